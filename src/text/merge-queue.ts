const POSITIONS = 2 ** 32;

/**
 * A binary heap of possible merges, lowest rank first, leftmost first among equals. An entry is one float64: rank · 2³²
 * + position, exact for ranks below 2²¹.
 */
export class MergeQueue {
  #heap = new Float64Array(256);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(rank: number, position: number): void {
    if (this.#length === this.#heap.length) {
      const larger = new Float64Array(this.#heap.length * 2);
      larger.set(this.#heap);
      this.#heap = larger;
    }
    const heap = this.#heap;
    const key = rank * POSITIONS + position;
    let at = this.#length++;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if ((heap[parent] as number) <= key) break;
      heap[at] = heap[parent] as number;
      at = parent;
    }
    heap[at] = key;
  }

  /** Removes the first entry and returns its key; the queue must not be empty. */
  pop(): number {
    const heap = this.#heap;
    const first = heap[0] as number;
    const last = heap[--this.#length] as number;
    const length = this.#length;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= length) break;
      if (child + 1 < length && (heap[child + 1] as number) < (heap[child] as number)) child++;
      if ((heap[child] as number) >= last) break;
      heap[at] = heap[child] as number;
      at = child;
    }
    heap[at] = last;
    return first;
  }

  static rankOf(key: number): number {
    return Math.floor(key / POSITIONS);
  }

  static positionOf(key: number): number {
    return key % POSITIONS;
  }
}

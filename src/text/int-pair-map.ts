const EMPTY = -1;

/**
 * A hash table from pairs of non-negative 32-bit integers to an integer: open addressing in typed arrays, so that
 * hundreds of thousands of merges or trie edges cost no objects.
 */
export class IntPairMap {
  #firsts: Int32Array;
  #seconds: Int32Array;
  #values: Int32Array;
  #size = 0;

  /** `expected`: how many pairs will likely be stored. */
  constructor(expected = 16) {
    const capacity = 2 ** Math.ceil(Math.log2(Math.max(16, expected * 2)));
    this.#firsts = new Int32Array(capacity).fill(EMPTY);
    this.#seconds = new Int32Array(capacity);
    this.#values = new Int32Array(capacity);
  }

  get size(): number {
    return this.#size;
  }

  /** The value of the pair, or -1 where it has none. */
  get(first: number, second: number): number {
    const slot = this.#slot(first, second);
    return this.#firsts[slot] === EMPTY ? -1 : (this.#values[slot] as number);
  }

  set(first: number, second: number, value: number): void {
    let slot = this.#slot(first, second);
    if (this.#firsts[slot] === EMPTY) {
      if ((this.#size + 1) * 2 > this.#firsts.length) {
        this.#grow();
        slot = this.#slot(first, second);
      }
      this.#firsts[slot] = first;
      this.#seconds[slot] = second;
      this.#size++;
    }
    this.#values[slot] = value;
  }

  clear(): void {
    this.#firsts.fill(EMPTY);
    this.#size = 0;
  }

  /** Where the pair is, or the free place where it would go. */
  #slot(first: number, second: number): number {
    const firsts = this.#firsts;
    const mask = firsts.length - 1;
    let hash = Math.imul(first, 0x9e3779b1) ^ Math.imul(second, 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
    let slot = (hash ^ (hash >>> 13)) & mask;
    while (firsts[slot] !== EMPTY && !(firsts[slot] === first && this.#seconds[slot] === second)) {
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  #grow(): void {
    const firsts = this.#firsts;
    const seconds = this.#seconds;
    const values = this.#values;
    this.#firsts = new Int32Array(firsts.length * 2).fill(EMPTY);
    this.#seconds = new Int32Array(firsts.length * 2);
    this.#values = new Int32Array(firsts.length * 2);
    for (let i = 0; i < firsts.length; i++) {
      const first = firsts[i] as number;
      if (first === EMPTY) continue;
      const slot = this.#slot(first, seconds[i] as number);
      this.#firsts[slot] = first;
      this.#seconds[slot] = seconds[i] as number;
      this.#values[slot] = values[i] as number;
    }
  }
}

/** A range of bytes: its first, and the one after its last. */
export type ByteRange = readonly [start: number, end: number];

/** A set of bytes of a file, as sorted ranges that do not touch. */
export class ByteRanges {
  #ranges: ByteRange[] = [];

  constructor(ranges: Iterable<ByteRange> = []) {
    for (const [start, end] of ranges) this.add(start, end);
  }

  [Symbol.iterator](): Iterator<ByteRange> {
    return this.#ranges[Symbol.iterator]();
  }

  /** The number of bytes in the set. */
  get bytes(): number {
    return this.#ranges.reduce((sum, [start, end]) => sum + end - start, 0);
  }

  /** The end of the range that begins at 0; 0 if there is none. */
  get prefix(): number {
    const [first] = this.#ranges;
    return first?.[0] === 0 ? first[1] : 0;
  }

  add(start: number, end: number): void {
    if (start >= end) return;
    const touching = this.#ranges.filter(([from, to]) => from <= end && to >= start);
    const merged: ByteRange = [
      Math.min(start, ...touching.map(([from]) => from)),
      Math.max(end, ...touching.map(([, to]) => to)),
    ];
    const rest = this.#ranges.filter((range) => !touching.includes(range));
    this.#ranges = [...rest, merged].sort(([a], [b]) => a - b);
  }

  remove(start: number, end: number): void {
    if (start >= end) return;
    this.#ranges = this.#ranges
      .flatMap(([from, to]): ByteRange[] => [
        [from, Math.min(to, start)],
        [Math.max(from, end), to],
      ])
      .filter(([from, to]) => from < to);
  }

  /** The first missing bytes before `size`, `length` of them at most; undefined if there are none. */
  firstGap(size: number, length: number): ByteRange | undefined {
    let start = 0;
    for (const [from, to] of this.#ranges) {
      if (from > start) return start < size ? [start, Math.min(from, start + length, size)] : undefined;
      start = to;
    }
    return start < size ? [start, Math.min(size, start + length)] : undefined;
  }
}

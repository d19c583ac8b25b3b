import { TupleTable } from '../tuple-table.ts';

/** 256 bits in eight words. */
const WORDS = 8;

/** Interned sets of bytes, identified by ids. */
export class ByteSets {
  readonly #table = new TupleTable();
  readonly #scratch = new Int32Array(WORDS);
  readonly none: number;
  readonly all: number;

  constructor() {
    this.none = this.#table.intern(this.#scratch.fill(0));
    this.all = this.#table.intern(this.#scratch.fill(-1));
  }

  /** The set of these bytes. */
  of(bytes: Iterable<number>): number {
    this.#scratch.fill(0);
    for (const byte of bytes)
      this.#scratch[byte >>> 5] = (this.#scratch[byte >>> 5] as number) | (1 << (byte & 31));
    return this.#table.intern(this.#scratch);
  }

  /** The set of the bytes in these ranges: pairs of inclusive bounds, flat. */
  ofRanges(ends: readonly number[]): number {
    this.#scratch.fill(0);
    for (let at = 0; at < ends.length; at += 2) {
      for (let byte = ends[at] as number; byte <= (ends[at + 1] as number); byte++)
        this.#scratch[byte >>> 5] = (this.#scratch[byte >>> 5] as number) | (1 << (byte & 31));
    }
    return this.#table.intern(this.#scratch);
  }

  has(set: number, byte: number): boolean {
    return ((this.#table.at(set, byte >>> 5) >>> (byte & 31)) & 1) === 1;
  }

  union(a: number, b: number): number {
    for (let i = 0; i < WORDS; i++) this.#scratch[i] = this.#table.at(a, i) | this.#table.at(b, i);
    return this.#table.intern(this.#scratch);
  }

  intersection(a: number, b: number): number {
    for (let i = 0; i < WORDS; i++) this.#scratch[i] = this.#table.at(a, i) & this.#table.at(b, i);
    return this.#table.intern(this.#scratch);
  }

  /** The bytes in `a` that are not in `b`. */
  difference(a: number, b: number): number {
    for (let i = 0; i < WORDS; i++) this.#scratch[i] = this.#table.at(a, i) & ~this.#table.at(b, i);
    return this.#table.intern(this.#scratch);
  }

  /**
   * Clears in `bits` (eight words) every byte whose membership in the set differs from that of `byte`; returns whether
   * `byte` is in the set.
   */
  narrow(set: number, byte: number, bits: Int32Array): boolean {
    const isIn = this.has(set, byte);
    const flip = isIn ? 0 : -1;
    const start = this.#table.start(set);
    const values = this.#table.values.array;
    for (let i = 0; i < WORDS; i++) bits[i] = (bits[i] as number) & ((values[start + i] as number) ^ flip);
    return isIn;
  }

  /** The bytes of a set in ascending order. */
  bytesOf(set: number): number[] {
    return bytesIn(this.#table.values.array.subarray(this.#table.start(set), this.#table.start(set) + WORDS));
  }
}

/** The bytes whose bits are set in eight words, in ascending order. */
export function bytesIn(bits: Int32Array): number[] {
  const bytes: number[] = [];
  for (let word = 0; word < WORDS; word++) {
    for (let rest = bits[word] as number; rest !== 0; rest &= rest - 1) {
      bytes.push(word * 32 + 31 - Math.clz32(rest & -rest));
    }
  }
  return bytes;
}

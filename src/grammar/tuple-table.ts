const FIRST_SLOTS = 1024;
const FREE = -1;

/** A growable typed array of integers. */
export class Ints {
  array: Int32Array;
  length = 0;

  constructor(capacity = 64) {
    this.array = new Int32Array(capacity);
  }

  push(value: number): void {
    if (this.length === this.array.length) this.#grow(this.length + 1);
    this.array[this.length++] = value;
  }

  /** Appends `count` integers of `from`, starting at `start`. */
  append(from: Int32Array, start: number, count: number): void {
    if (this.length + count > this.array.length) this.#grow(this.length + count);
    this.array.set(from.subarray(start, start + count), this.length);
    this.length += count;
  }

  /** Changes the length; new elements are undefined. */
  resize(length: number): void {
    if (length > this.array.length) this.#grow(length);
    this.length = length;
  }

  /** The value at an index below `length`. */
  at(index: number): number {
    return this.array[index] as number;
  }

  #grow(needed: number): void {
    const larger = new Int32Array(Math.max(needed, this.array.length * 2));
    larger.set(this.array.subarray(0, this.length));
    this.array = larger;
  }
}

/**
 * Tuples of integers, each stored once (hash consing): equal tuples have the same id, counting from 0. Interned tuples
 * can be compared by id, and be part of other tuples.
 */
export class TupleTable {
  /** All tuples, concatenated. */
  readonly values = new Ints(1024);
  readonly #starts = new Ints(256);
  #slots = new Int32Array(FIRST_SLOTS).fill(FREE);

  constructor() {
    this.#starts.push(0);
  }

  get size(): number {
    return this.#starts.length - 1;
  }

  /** Offset of a tuple in `values`. */
  start(id: number): number {
    return this.#starts.at(id);
  }

  lengthOf(id: number): number {
    return this.#starts.at(id + 1) - this.#starts.at(id);
  }

  /** One element of a tuple. */
  at(id: number, index: number): number {
    return this.values.at(this.#starts.at(id) + index);
  }

  /** The id of the tuple that is the first `length` elements of `tuple`; it is new if it equals the previous `size`. */
  intern(tuple: ArrayLike<number>, length = tuple.length): number {
    const mask = this.#slots.length - 1;
    let slot = hashOf(tuple, length) & mask;
    for (;;) {
      const id = this.#slots[slot] as number;
      if (id === FREE) break;
      if (this.#equals(id, tuple, length)) return id;
      slot = (slot + 1) & mask;
    }
    const id = this.size;
    for (let i = 0; i < length; i++) this.values.push(tuple[i] as number);
    this.#starts.push(this.values.length);
    this.#slots[slot] = id;
    if (id * 2 > mask) this.#rehash();
    return id;
  }

  #equals(id: number, tuple: ArrayLike<number>, length: number): boolean {
    if (this.lengthOf(id) !== length) return false;
    const start = this.start(id);
    for (let i = 0; i < length; i++) if (this.values.at(start + i) !== tuple[i]) return false;
    return true;
  }

  #rehash(): void {
    const slots = new Int32Array(this.#slots.length * 4).fill(FREE);
    const mask = slots.length - 1;
    for (let id = 0; id < this.size; id++) {
      const start = this.start(id);
      let slot = hashOf(this.values.array.subarray(start), this.lengthOf(id)) & mask;
      while (slots[slot] !== FREE) slot = (slot + 1) & mask;
      slots[slot] = id;
    }
    this.#slots = slots;
  }
}

/** FNV-1a over whole integers, with the high bits mixed in. */
function hashOf(tuple: ArrayLike<number>, length: number): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < length; i++) {
    hash = Math.imul(hash ^ (tuple[i] as number), 0x01000193);
    hash ^= hash >>> 15;
  }
  return Math.imul(hash, 0x2c1b3c6d) ^ (hash >>> 13);
}

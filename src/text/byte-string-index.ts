import type { StringList } from './string-list.ts';

const EMPTY = -1;

/** Finds a string of a list by its bytes: a hash table with open addressing that stores positions only. */
export class ByteStringIndex {
  readonly #list: StringList;
  readonly #positions: Int32Array;
  readonly #hashes: Int32Array;

  constructor(list: StringList) {
    this.#list = list;
    const capacity = 2 ** Math.ceil(Math.log2(Math.max(16, list.length * 2)));
    this.#positions = new Int32Array(capacity).fill(EMPTY);
    this.#hashes = new Int32Array(capacity);
    for (let i = 0; i < list.length; i++) {
      const start = list.start(i);
      const end = list.end(i);
      if (start === end) continue;
      const hash = hashOf(list.bytes, start, end);
      const slot = this.#slot(hash, list.bytes, start, end);
      if (this.#positions[slot] !== EMPTY) continue;
      this.#positions[slot] = i;
      this.#hashes[slot] = hash;
    }
  }

  /** The position of the first string equal to `bytes` from `start` to `end`, or -1; an empty one is never found. */
  find(bytes: Uint8Array, start: number, end: number): number {
    if (start === end) return EMPTY;
    return this.#positions[this.#slot(hashOf(bytes, start, end), bytes, start, end)] as number;
  }

  #slot(hash: number, bytes: Uint8Array, start: number, end: number): number {
    const mask = this.#positions.length - 1;
    let slot = (hash ^ (hash >>> 15)) & mask;
    for (;;) {
      const position = this.#positions[slot] as number;
      if (position === EMPTY) return slot;
      if (this.#hashes[slot] === hash && this.#equals(position, bytes, start, end)) return slot;
      slot = (slot + 1) & mask;
    }
  }

  #equals(position: number, bytes: Uint8Array, start: number, end: number): boolean {
    const own = this.#list.bytes;
    const offset = this.#list.start(position);
    const length = end - start;
    if (this.#list.end(position) - offset !== length) return false;
    for (let i = 0; i < length; i++) if (own[offset + i] !== bytes[start + i]) return false;
    return true;
  }
}

/** FNV-1a. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5 | 0;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ (bytes[i] as number), 0x01000193);
  return hash;
}

import type { StringList } from './string-list.ts';

const EMPTY = -1;
/** A slot is four adjacent integers, so that a lookup touches one cache line: position, hash, start, end. */
const SLOT = 4;

/** Finds a string of a list by its bytes: a hash table with open addressing over the list's own bytes. */
export class ByteStringIndex {
  readonly #bytes: Uint8Array;
  readonly #slots: Int32Array;
  readonly #mask: number;

  constructor(list: StringList) {
    const capacity = 2 ** Math.ceil(Math.log2(Math.max(16, list.length * 1.5)));
    const slots = new Int32Array(capacity * SLOT).fill(EMPTY);
    this.#bytes = list.bytes;
    this.#slots = slots;
    this.#mask = capacity - 1;
    for (let i = 0; i < list.length; i++) {
      const start = list.start(i);
      const end = list.end(i);
      if (start === end) continue;
      const hash = hashOf(list.bytes, start, end);
      const at = this.#find(hash, list.bytes, start, end);
      if (slots[at] !== EMPTY) continue;
      slots[at] = i;
      slots[at + 1] = hash;
      slots[at + 2] = start;
      slots[at + 3] = end;
    }
  }

  /** The position of the first string equal to `bytes` from `start` to `end`, or -1; an empty one is never found. */
  find(bytes: Uint8Array, start: number, end: number): number {
    if (start === end) return EMPTY;
    return this.#slots[this.#find(hashOf(bytes, start, end), bytes, start, end)] as number;
  }

  /** The index of the string's slot, or of the free slot where it would go. */
  #find(hash: number, bytes: Uint8Array, start: number, end: number): number {
    const slots = this.#slots;
    const mask = this.#mask;
    const own = this.#bytes;
    const length = end - start;
    let slot = (hash ^ (hash >>> 15)) & mask;
    for (;;) {
      const at = slot * SLOT;
      if (slots[at] === EMPTY) return at;
      const ownStart = slots[at + 2] as number;
      if (slots[at + 1] === hash && (slots[at + 3] as number) - ownStart === length) {
        let same = 0;
        while (same < length && own[ownStart + same] === bytes[start + same]) same++;
        if (same === length) return at;
      }
      slot = (slot + 1) & mask;
    }
  }
}

/** FNV-1a. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5 | 0;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ (bytes[i] as number), 0x01000193);
  return hash;
}

import { fail } from '../../base/errors.ts';

const KEY = 'tokenizer.ggml.precompiled_charsmap';

/** The replacement of a matched prefix, and the number of bytes that matched. */
export interface Replacement {
  readonly bytes: Uint8Array;
  readonly length: number;
}

/**
 * SentencePiece's compiled normalization rules: an XOR-compressed double-array trie of prefixes (Kanda 2018), then the
 * replacements as null-terminated strings. A unit's bits: 0-7 label, 8 "has a value", 9 "offset is shifted by 8", 10-30
 * offset, 31 "is a value". Layout: u32 size of the array in bytes, the array, the strings.
 */
export class PrecompiledCharsmap {
  readonly #units: Uint32Array;
  readonly #replacements: Uint8Array;

  /** Throws `TOKENIZER_INVALID`. */
  constructor(values: ArrayLike<number>) {
    const bytes = Uint8Array.from(values, (value) => value & 0xff);
    const view = new DataView(bytes.buffer);
    const size = bytes.length >= 4 ? view.getUint32(0, true) : bytes.length;
    if (size + 4 >= bytes.length || size % 4 !== 0) {
      fail('TOKENIZER_INVALID', {
        key: KEY,
        found: `${bytes.length} bytes with a table of ${size}`,
        expected: 'a table of whole units followed by replacements',
      });
    }
    this.#units = Uint32Array.from({ length: size / 4 }, (_, i) => view.getUint32(4 + 4 * i, true));
    this.#replacements = bytes.subarray(4 + size);
  }

  /** The rule of the longest matching prefix at `offset`, or undefined. */
  match(text: Uint8Array, offset: number): Replacement | undefined {
    let node = this.#offsetOf(0);
    let length = 0;
    let value = 0;
    for (let i = offset; i < text.length; i++) {
      const byte = text[i] as number;
      if (byte === 0) break;
      node = (node ^ byte) >>> 0;
      if ((this.#unit(node) & 0x800000ff) >>> 0 !== byte) break;
      const hasValue = (this.#unit(node) & 0x100) !== 0;
      node = (node ^ this.#offsetOf(node)) >>> 0;
      if (hasValue) {
        length = i - offset + 1;
        value = this.#unit(node) & 0x7fffffff;
      }
    }
    if (length === 0) return undefined;
    const end = this.#replacements.indexOf(0, value);
    if (value >= this.#replacements.length || end < 0) this.#corrupt(`replacement ${value}`);
    return { bytes: this.#replacements.subarray(value, end), length };
  }

  #unit(index: number): number {
    const unit = this.#units[index];
    if (unit === undefined) this.#corrupt(`unit ${index}`);
    return unit;
  }

  #offsetOf(index: number): number {
    const unit = this.#unit(index);
    return (unit >>> 10) << ((unit & 0x200) >>> 6);
  }

  #corrupt(what: string): never {
    fail('TOKENIZER_INVALID', {
      key: KEY,
      found: `a reference to ${what}`,
      expected: 'a place inside the table',
    });
  }
}

import type { TokenizerMetadata } from './tokenizer-metadata.ts';

/** Bytes before the strings: the type of the elements and their number. */
const HEAD_BYTES = 12;
const STRING_TYPE = 8;

/**
 * An array of strings, kept as the bytes of the file. A vocabulary with its merges has half a million strings: decoding
 * them all would take most of the time of opening a tokenizer, and few are ever needed as text.
 */
export class StringList {
  readonly #starts: Uint32Array;
  readonly #ends: Uint32Array;

  private constructor(
    /** The bytes that `start` and `end` point into. */
    readonly bytes: Uint8Array,
    readonly length: number,
  ) {
    this.#starts = new Uint32Array(length);
    this.#ends = new Uint32Array(length);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let at = HEAD_BYTES;
    for (let i = 0; i < length; i++) {
      const start = at + 8;
      at = start + view.getUint32(at, true);
      this.#starts[i] = start;
      this.#ends[i] = at;
    }
  }

  /** The array of that key; undefined if there is none or its elements are not strings. */
  static read(metadata: TokenizerMetadata, key: string): StringList | undefined {
    const value = metadata.encoded(key);
    if (value?.type !== 'array') return undefined;
    const { payload } = value;
    const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
    if (view.getUint32(0, true) !== STRING_TYPE) return undefined;
    return new StringList(payload, view.getUint32(4, true));
  }

  start(index: number): number {
    return this.#starts[index] as number;
  }

  end(index: number): number {
    return this.#ends[index] as number;
  }

  /** One string's bytes, not copied. */
  bytesAt(index: number): Uint8Array {
    return this.bytes.subarray(this.#starts[index], this.#ends[index]);
  }
}

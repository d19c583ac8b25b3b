import type { BlockLayout } from './block-layout.ts';
import type { EncodeOptions } from './group-fits.ts';

/**
 * A tensor format: how a block of consecutive elements of one row is stored, and the reference implementation for
 * decoding it.
 *
 * Byte offsets are in bytes, float offsets in elements. `src` and `dst` may be in shared memory and at any alignment.
 * Results are bit-exact with ggml's scalar decoders: every product and sum that they round to f32 is rounded here too.
 */
export interface TensorFormat {
  /** ggml's name in upper case: `Q4_K`. */
  readonly name: string;

  /** The id in GGUF files (`enum ggml_type`). */
  readonly ggmlType: number;

  /** Elements of one block; a row is a whole number of blocks. */
  readonly blockElements: number;

  /** Bytes of one block. */
  readonly blockBytes: number;

  /** The layout of a block; absent if elements are stored as separate numbers. */
  readonly layout?: BlockLayout;

  /** Decodes `blockCount` blocks from `src` into `blockCount * blockElements` floats of `dst`. */
  decode(src: Uint8Array, srcOffset: number, dst: Float32Array, dstOffset: number, blockCount: number): void;

  /**
   * Encodes `blockCount * blockElements` finite floats of `src` into blocks, as ggml does; absent if the format can only
   * be decoded.
   */
  encode?(
    src: Float32Array,
    srcOffset: number,
    dst: Uint8Array,
    dstOffset: number,
    blockCount: number,
    options?: EncodeOptions,
  ): void;

  /**
   * Fills whole blocks with random weights of mean 0 and about the given standard deviation. `random` returns uniform
   * numbers in [0, 1), like `Math.random`.
   */
  fillRandom(dst: Uint8Array, random: () => number, deviation: number): void;
}

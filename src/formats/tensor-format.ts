import type { BlockLayout } from './block-layout.ts';

/**
 * A tensor format: how a block of consecutive elements of one row is stored, and the one true way to decode it.
 *
 * Offsets into bytes are in bytes, offsets into floats in elements. `src` and `dst` may lie in shared memory and at any
 * alignment. Results are bit-exact with ggml's scalar decoders: every product and sum is rounded to float32 where they
 * round.
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

  /** How a block is built; absent where every element is a number of its own. */
  readonly layout?: BlockLayout;

  /** Decodes `blockCount` blocks from `src` into `blockCount * blockElements` floats of `dst`. */
  decode(src: Uint8Array, srcOffset: number, dst: Float32Array, dstOffset: number, blockCount: number): void;

  /** Encodes `blockCount * blockElements` floats of `src` into blocks; absent where only a decoder is defined. */
  encode?(src: Float32Array, srcOffset: number, dst: Uint8Array, dstOffset: number, blockCount: number): void;

  /**
   * Fills whole blocks with random weights of mean 0 and about the given standard deviation. `random` gives uniform
   * numbers in [0, 1), as `Math.random`.
   */
  fillRandom(dst: Uint8Array, random: () => number, deviation: number): void;
}

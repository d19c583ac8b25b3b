import type { TensorFormat } from '../formats/tensor-format.ts';

/** Blocks to decode. */
export interface DecodeWork {
  readonly format: TensorFormat;
  /** Whole blocks of this format. */
  readonly source: Uint8Array;
  /** The target format, F32 or F16; f32 values are rounded to nearest even for F16. */
  readonly become: TensorFormat;
  /** Room for all elements; may have any alignment, but must not overlap `source`. */
  readonly into: Uint8Array;
}

/** Memory shared with threads; must not be used after its disposal. */
export interface SharedBlock extends Disposable {
  /** Page-aligned. */
  readonly bytes: Uint8Array;
}

/**
 * Decodes blocks on the host, on its own threads if the platform has them. Results are bit-identical to those of the
 * format's own decoder. Memory from `share` is processed in place; other memory is copied piece by piece.
 */
export interface BlockDecoder extends AsyncDisposable {
  /** How many calls it processes in parallel. */
  readonly threads: number;
  /** Allocates memory that its threads can access; absent if there are none. Owned by the caller. */
  share?(byteLength: number): SharedBlock;
  /** Resolves when `into` is filled; until then nothing else may access either. Rejects if a thread has died. */
  decode(work: DecodeWork): Promise<void>;
}

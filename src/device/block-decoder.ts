import type { TensorFormat } from '../formats/tensor-format.ts';

/** Blocks to decode. */
export interface DecodeWork {
  readonly format: TensorFormat;
  /** Whole blocks of that format. */
  readonly source: Uint8Array;
  /** F32 or F16: what the elements become, f32 rounded to nearest even for F16. */
  readonly become: TensorFormat;
  /** Room for all elements; at any alignment, and not over `source`. */
  readonly into: Uint8Array;
}

/** Memory that threads share; not to be touched after its disposal. */
export interface SharedBlock extends Disposable {
  /** Aligned to pages. */
  readonly bytes: Uint8Array;
}

/**
 * Decodes blocks on the host, on threads of its own where the platform has them. Results are bit for bit those of the
 * format's own decoder. Memory of `share` is worked on where it lies; other memory is copied piece by piece.
 */
export interface BlockDecoder extends AsyncDisposable {
  /** How many pieces of work it does at once. */
  readonly threads: number;
  /** Memory that the threads see; absent where there are none. The caller's. */
  share?(byteLength: number): SharedBlock;
  /** Resolves when `into` is filled; until then nobody else touches either. Rejects when a thread has died. */
  decode(work: DecodeWork): Promise<void>;
}

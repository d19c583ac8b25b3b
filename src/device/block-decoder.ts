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

/**
 * Decodes blocks on the host, on threads of its own where the platform has them. Results are bit for bit those of the
 * format's own decoder. Memory that is shared is worked on where it lies; other memory is copied to and fro.
 */
export interface BlockDecoder extends AsyncDisposable {
  /** How many pieces of work it does at once. */
  readonly threads: number;
  /** Resolves when `into` is filled; until then nobody else touches either. Rejects when a thread has died. */
  decode(work: DecodeWork): Promise<void>;
}

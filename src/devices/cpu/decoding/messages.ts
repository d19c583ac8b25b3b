import type { WasmMemory, WasmModule } from '../../../base/web-types.ts';

/** Messages of the pool to a decoding worker. */
export type DecodeRequest =
  | { readonly kind: 'start'; readonly kernels: WasmModule; readonly worker: number }
  /** Announces a memory, whose start has room for the kernels' tables and the workers' scratch. */
  | { readonly kind: 'share'; readonly id: number; readonly memory: WasmMemory }
  | { readonly kind: 'forget'; readonly id: number }
  | {
      readonly kind: 'decode';
      readonly ggmlType: number;
      /** Both are in shared memory. */
      readonly source: Uint8Array;
      readonly into: Uint8Array;
      readonly toF16: boolean;
    }
  | {
      readonly kind: 'decode in place';
      readonly ggmlType: number;
      /** The id of the memory that holds both. */
      readonly id: number;
      readonly source: number;
      readonly blocks: number;
      readonly into: number;
      readonly toF16: boolean;
    };

/** A decoding worker's answer, one per request. */
export type DecodeAnswer = { readonly failure: string | undefined };

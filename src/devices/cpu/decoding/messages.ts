/** What the pool posts to a decoding worker. */
export type DecodeRequest =
  | { readonly kind: 'start'; readonly kernels: WebAssembly.Module; readonly worker: number }
  /** Makes a memory known, in whose start the kernels' tables and the workers' scratch have room. */
  | { readonly kind: 'share'; readonly id: number; readonly memory: WebAssembly.Memory }
  | { readonly kind: 'forget'; readonly id: number }
  | {
      readonly kind: 'decode';
      readonly ggmlType: number;
      /** Over shared memory, both. */
      readonly source: Uint8Array;
      readonly into: Uint8Array;
      readonly toF16: boolean;
    }
  | {
      readonly kind: 'decode in place';
      readonly ggmlType: number;
      /** The memory in which both lie, by its number. */
      readonly id: number;
      readonly source: number;
      readonly blocks: number;
      readonly into: number;
      readonly toF16: boolean;
    };

/** What a decoding worker answers: one for each decoding. */
export type DecodeAnswer = { readonly failure: string | undefined };

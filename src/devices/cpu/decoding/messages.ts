/** What the pool posts to a decoding worker. */
export type DecodeRequest =
  | { readonly kind: 'start'; readonly kernels: WebAssembly.Module }
  | {
      readonly kind: 'decode';
      readonly ggmlType: number;
      /** Over shared memory, both. */
      readonly source: Uint8Array;
      readonly into: Uint8Array;
      readonly halves: boolean;
    };

/** What a decoding worker answers: one for each `decode`. */
export type DecodeAnswer = { readonly failure: string | undefined };

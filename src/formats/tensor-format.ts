/** A tensor element format of GGUF. */
export interface TensorFormat {
  readonly name: string;
  readonly ggmlType: number;
  readonly blockElements: number;
  readonly blockBytes: number;
  decode(src: Uint8Array, srcOffset: number, dst: Float32Array, dstOffset: number, blockCount: number): void;
}

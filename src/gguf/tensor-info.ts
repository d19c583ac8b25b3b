import type { TensorFormat } from '../formats/index.ts';
import type { ByteSource } from '../io/index.ts';

/** A tensor of a file: its type, shape and position. */
export interface TensorInfo {
  readonly name: string;
  readonly format: TensorFormat;

  /**
   * Elements per dimension, the innermost (`ne0`, contiguous) first, as in ggml; empty for a scalar. One may be zero.
   */
  readonly shape: readonly number[];

  /** Product of the shape. */
  readonly elementCount: number;

  /** Bytes of all its blocks, without padding. */
  readonly byteLength: number;

  /** Position of the first byte in `source`. */
  readonly offset: number;

  /** The file that holds the data, one of several if the model is split. */
  readonly source: ByteSource;
}

/** The bytes of a tensor: without a copy if the source supports that, otherwise read. Callers must not modify them. */
export async function loadTensorBytes(tensor: TensorInfo, signal?: AbortSignal): Promise<Uint8Array> {
  const { source, offset, byteLength } = tensor;
  const view = source.view?.(offset, byteLength);
  if (view) return view;
  const bytes = new Uint8Array(byteLength);
  await source.read(offset, bytes, signal);
  return bytes;
}

/** All elements of a tensor as floats, decoded by its format. */
export async function loadTensorFloats(tensor: TensorInfo, signal?: AbortSignal): Promise<Float32Array> {
  const bytes = await loadTensorBytes(tensor, signal);
  const floats = new Float32Array(tensor.elementCount);
  tensor.format.decode(bytes, 0, floats, 0, tensor.elementCount / tensor.format.blockElements);
  return floats;
}

import { fail } from '../base/errors.ts';
import { F32 } from '../formats/index.ts';
import type { GgufFile } from '../gguf/gguf-file.ts';
import { memoryTensor } from '../gguf/memory-tensor.ts';
import { loadTensorFloats, type TensorInfo } from '../gguf/tensor-info.ts';
import type { ModelConfig } from './model-config.ts';
import type { TensorIndex } from './part-scope.ts';

/** What is added to the residual stream behind layers: f32 [width] by the layer's index. */
export type ControlVectors = ReadonlyMap<number, Float32Array>;

/** A file of directions, and what they are multiplied with. */
export interface ControlVectorFile {
  readonly gguf: GgufFile;
  readonly scale: number;
}

/** The weight that a layer has if something is added behind it. */
export const CONTROL_VECTOR = 'control_vector';

const DIRECTION = /^direction\.(\d+)$/;

/**
 * Reads and sums control vectors (Zou et al. 2023, "Representation Engineering") as llama.cpp's `cvector-generator` writes
 * them: f32 `direction.N` of [width] is added behind layer N, counted from 0; there is none for layer 0. Only those of the
 * layers of `range`, both ends included, count. Rejects with `CONTROL_VECTOR_INVALID` and with errors of reading.
 */
export async function readControlVectors(
  files: readonly ControlVectorFile[],
  [first, last]: readonly [number, number] = [1, Number.POSITIVE_INFINITY],
  signal?: AbortSignal,
): Promise<ControlVectors> {
  const sums = new Map<number, Float32Array>();
  for (const { gguf, scale } of files) {
    let within = 0;
    for (const [layer, direction] of directionsOf(gguf)) {
      if (layer < first || layer > last) continue;
      within++;
      const sum = sums.get(layer) ?? new Float32Array(direction.elementCount);
      addScaled(gguf.name, sum, { direction, scale, values: await loadTensorFloats(direction, signal) });
      sums.set(layer, sum);
    }
    if (within === 0) refuse(gguf.name, 'no direction', `one of the layers ${first} to ${last}`);
  }
  return sums;
}

/**
 * The weights of layers that add control vectors. A model with several residual streams adds them to each. Throws
 * `CONTROL_VECTOR_INVALID` unless they fit the model.
 */
export function controlTensors(
  vectors: ControlVectors,
  { width, layers, embedding }: ModelConfig,
): TensorIndex {
  const streams = embedding.copies ?? embedding.streams ?? 1;
  const tensors = new Map<string, TensorInfo>();
  for (const [layer, vector] of vectors) {
    if (vector.length !== width)
      refuse(`direction.${layer}`, `${vector.length} values`, `${width}, the model's width`);
    if (layer >= layers.length)
      refuse(`direction.${layer}`, `layer ${layer}`, `at most ${layers.length - 1}`);
    const values = new Float32Array(streams * width);
    for (let stream = 0; stream < streams; stream++) values.set(vector, stream * width);
    const name = `blk.${layer}.${CONTROL_VECTOR}`;
    tensors.set(name, memoryTensor(name, values, [values.length]));
  }
  return tensors;
}

/** The directions of a file by layer. */
function directionsOf({ name, metadata, tensors }: GgufFile): Map<number, TensorInfo> {
  const architecture = metadata.string('general.architecture') ?? 'nothing';
  if (architecture !== 'controlvector') refuse(name, `general.architecture ${architecture}`, 'controlvector');
  const directions = new Map<number, TensorInfo>();
  for (const tensor of tensors) {
    const layer = Number(DIRECTION.exec(tensor.name)?.[1]);
    if (!(layer > 0) || directions.has(layer))
      refuse(name, tensor.name, 'direction.N, once for each layer from 1');
    const isVector = tensor.format === F32 && tensor.shape[0] === tensor.elementCount;
    if (!isVector) {
      const found = `${tensor.name}: ${tensor.format.name} [${tensor.shape.join(', ')}]`;
      refuse(name, found, 'F32 in one dimension');
    }
    const [other = tensor] = directions.values();
    if (other.elementCount !== tensor.elementCount)
      refuse(name, `${tensor.name} of ${tensor.elementCount} values`, `${other.elementCount}, as the others`);
    directions.set(layer, tensor);
  }
  return directions;
}

function addScaled(
  file: string,
  sum: Float32Array,
  {
    direction,
    scale,
    values,
  }: { readonly direction: TensorInfo; readonly scale: number; readonly values: Float32Array },
): void {
  if (sum.length !== values.length)
    refuse(file, `${direction.name} of ${values.length} values`, `${sum.length}, as in the file before`);
  for (let i = 0; i < sum.length; i++) {
    sum[i] = (sum[i] as number) + scale * (values[i] as number);
    if (!Number.isFinite(sum[i]))
      refuse(file, `${direction.name}: element ${i} is not finite`, 'finite values');
  }
}

function refuse(file: string, found: string, expected: string): never {
  fail('CONTROL_VECTOR_INVALID', { file, found, expected });
}

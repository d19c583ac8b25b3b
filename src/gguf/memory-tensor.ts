import { asBytes } from '../base/bytes.ts';
import { F32 } from '../formats/index.ts';
import { MemorySource } from '../io/memory-source.ts';
import type { TensorInfo } from './tensor-info.ts';

/** An f32 tensor whose values are in memory and stay the caller's. `shape` has the innermost dimension first. */
export function memoryTensor(name: string, values: Float32Array, shape: readonly number[]): TensorInfo {
  const { length: elementCount, byteLength } = values;
  return {
    name,
    format: F32,
    shape,
    elementCount,
    byteLength,
    offset: 0,
    source: new MemorySource(asBytes(values), name),
  };
}

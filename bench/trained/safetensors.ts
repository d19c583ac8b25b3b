import { readFileSync } from 'node:fs';
import { F16, F32 } from '../../src/formats/index.ts';

/** A tensor in row-major order, its largest stride first, as PyTorch states shapes. */
export interface Weight {
  readonly shape: readonly number[];
  readonly values: Float32Array;
}

const FORMATS = { F16, F32 } as const;

interface Entry {
  readonly dtype: keyof typeof FORMATS;
  readonly shape: readonly number[];
  readonly data_offsets: readonly [number, number];
}

/** Reads a safetensors file of F16 and F32 tensors: a JSON header with its length before it, then the data. */
export function readSafetensors(path: string): Map<string, Weight> {
  const file = readFileSync(path);
  const headerBytes = Number(file.readBigUInt64LE(0));
  const header = JSON.parse(file.toString('utf8', 8, 8 + headerBytes)) as Record<string, Entry>;
  const weights = new Map<string, Weight>();
  for (const [name, entry] of Object.entries(header)) {
    if (name === '__metadata__') continue;
    const { dtype, shape, data_offsets: offsets } = entry;
    const values = new Float32Array(shape.reduce((product, size) => product * size, 1));
    FORMATS[dtype].decode(file, 8 + headerBytes + offsets[0], values, 0, values.length);
    weights.set(name, { shape, values });
  }
  return weights;
}

import { dataViewOf } from './block-format.ts';
import { uniformOfDeviation } from './random-bytes.ts';
import type { TensorFormat } from './tensor-format.ts';

/** A format without blocks: each element is stored as a separate number. */
export interface PlainSpec {
  readonly name: string;
  readonly ggmlType: number;
  readonly bytes: number;
  get(bytes: DataView, at: number): number;
  set(bytes: DataView, at: number, value: number): void;

  /** Whether floats can be encoded: not for integers, which have no scale. */
  readonly encodes: boolean;
}

/** Creates a format from the functions that read and write one number. */
export function plainFormat(spec: PlainSpec): TensorFormat {
  const size = spec.bytes;
  const format: TensorFormat = {
    name: spec.name,
    ggmlType: spec.ggmlType,
    blockElements: 1,
    blockBytes: size,
    decode(src, srcOffset, dst, dstOffset, blockCount) {
      const bytes = dataViewOf(src);
      for (let i = 0; i < blockCount; i++) dst[dstOffset + i] = spec.get(bytes, srcOffset + i * size);
    },
    fillRandom(dst, random, deviation) {
      const bytes = dataViewOf(dst);
      for (let at = 0; at + size <= dst.byteLength; at += size) {
        spec.set(bytes, at, uniformOfDeviation(random(), deviation));
      }
    },
  };
  if (!spec.encodes) return format;
  return {
    ...format,
    encode(src, srcOffset, dst, dstOffset, blockCount) {
      const bytes = dataViewOf(dst);
      for (let i = 0; i < blockCount; i++) {
        spec.set(bytes, dstOffset + i * size, src[srcOffset + i] as number);
      }
    },
  };
}

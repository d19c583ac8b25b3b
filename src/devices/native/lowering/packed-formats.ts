import { alignUp } from '../../../base/bytes.ts';
import { invariant } from '../../../base/errors.ts';
import type { TensorFormat } from '../../../formats/index.ts';

/**
 * The arrays of the packed formats in the order of `kernels/packed/`: bytes a group of 32 elements. Each array is rounded up
 * to 16 bytes.
 */
const PLANES: Readonly<Record<string, readonly number[]>> = {
  Q4_0: [16, 2],
  Q4_1: [16, 4],
  Q5_0: [16, 4, 2],
  Q5_1: [16, 4, 4],
  Q8_0: [16, 16, 2],
  Q2_K: [8, 4 / 8, 2],
  Q3_K: [8, 4, 2 / 8, 2],
  Q4_K: [16, 4 / 8, 2],
  Q5_K: [16, 4, 4 / 8, 2],
  Q6_K: [16, 8, 2 / 8, 2],
  IQ4_NL: [16, 2],
  IQ4_XS: [16, 2 / 8, 2],
};

/** True for the formats that are multiplied as integers. */
export function isPacked(format: TensorFormat): boolean {
  return format.name in PLANES;
}

/** Bytes of a packed matrix of that many groups. */
export function packedBytes(format: TensorFormat, groups: number): number {
  const planes = PLANES[format.name];
  invariant(planes, `${format.name} is a packed format`);
  return planes.reduce((sum, bytes) => sum + alignUp(bytes * groups, 16), 0);
}

/** The header of a packed format. */
export function packedFile(format: TensorFormat): string {
  return `"packed/${format.name.toLowerCase().replaceAll('_', '-')}.h"`;
}

import { rowBucket } from '../../../device/index.ts';
import type { GpuTarget } from '../gpu-target.ts';

/** Maximum rows of the matrix-vector kernels. */
export const MATVEC_ROWS = 8;
/** Workgroup memory of a kernel besides the staged activations. */
const OTHER_WORKGROUP_BYTES = 4096;

/** The number of rows for which a kernel for a batch's capacity is compiled. */
export function bucketOf(capacity: number): number {
  return rowBucket(capacity, MATVEC_ROWS);
}

/** Bytes of activations that a workgroup can stage. */
export function stagedBytes({ workgroupBytes }: GpuTarget): number {
  return workgroupBytes - OTHER_WORKGROUP_BYTES;
}

/** Offset of the scales in quantized rows, in words. */
export function quantizedScalesAt(rows: number, columns: number): number {
  return (rows * columns) / 4;
}

import { rowBucket } from '../../../device/index.ts';
import type { GpuTarget } from '../gpu-target.ts';

/** Rows that the matrix-vector kernels take at once. */
export const MATVEC_ROWS = 8;
/** Workgroup memory of a kernel beside the staged activations. */
const OTHER_WORKGROUP_BYTES = 4096;

/** The rows that a kernel for a batch's capacity is made for. */
export function bucketOf(capacity: number): number {
  return rowBucket(capacity, MATVEC_ROWS);
}

/** Bytes of activations that a workgroup can hold. */
export function stagedBytes({ workgroupBytes }: GpuTarget): number {
  return workgroupBytes - OTHER_WORKGROUP_BYTES;
}

/** The word of quantized rows at which their scales start. */
export function quantizedScalesAt(rows: number, columns: number): number {
  return (rows * columns) / 4;
}

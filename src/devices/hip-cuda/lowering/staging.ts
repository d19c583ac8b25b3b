import { q8Bytes, rowBucket } from '../../../device/index.ts';
import type { HipCudaTarget } from '../launching/kernel-set.ts';

/** Rows that the matrix-vector kernels take at once. */
export const MATVEC_ROWS = 4;
/** Elements to which a row of f16 activations is filled up: what the kernels on matrix cores take at a time. */
export const F16_CHUNK = 128;
/** Shared memory of a block beside the staged activations. */
const STATIC_SHARED = 4608;
/** Two blocks a multiprocessor keep memory busy: each gets half at most. */
const BLOCKS_PER_PROCESSOR = 2;
/** What every GPU has for one block. */
const MIN_SHARED = 48 * 1024;

/** The rows that a kernel for a batch's capacity is made for. */
export function bucketOf(capacity: number): number {
  return rowBucket(capacity, MATVEC_ROWS);
}

/** Bytes of activations that a block can hold. */
export function stagedBytes({ sharedBytesOptIn }: HipCudaTarget): number {
  const half = Math.floor(sharedBytesOptIn / BLOCKS_PER_PROCESSOR);
  return Math.max(half, Math.min(MIN_SHARED, sharedBytesOptIn)) - STATIC_SHARED;
}

/** True when a block can hold the quantized activations of a batch's rows. */
export function canStage(target: HipCudaTarget, capacity: number, columns: number): boolean {
  return q8Bytes(bucketOf(capacity), columns) <= stagedBytes(target);
}

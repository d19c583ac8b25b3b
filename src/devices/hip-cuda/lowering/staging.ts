import { q8Bytes, rowBucket } from '../../../device/index.ts';
import type { HipCudaTarget } from '../launching/kernel-set.ts';

/** Maximum rows of the kernels of few rows. */
export const MATVEC_ROWS = 4;
/** Rows up to which a target's matrix-vector kernels take packed weights: of more, NVIDIA's matrix cores do, which have products of eight rows. */
export function matvecRows({ vendor }: HipCudaTarget): number {
  return vendor === 'nvidia' ? 2 : MATVEC_ROWS;
}
/** Padding unit of f16 activation rows, in elements: what the kernels on matrix cores process at a time. */
export const F16_CHUNK = 128;
/** Shared memory behind the staged activations, which kernels read for groups behind a row's last: halves of 32 groups. */
export const STAGED_SLACK = 512;
/** Shared memory of a block besides the staged activations: its warps' sums, of large blocks twice as many, and a little more. */
const STATIC_SHARED = 4096 + 128 + STAGED_SLACK;
/** What a copy of a codebook takes besides, whatever the format: `COPIED_WORDS` of `packed/grids.h`. */
export const CODEBOOK_BYTES = 8192;
/** Two blocks per multiprocessor keep memory busy: each gets at most half, besides a codebook, with which a large one runs alone. */
const BLOCKS_PER_PROCESSOR = 2;
/** Shared memory per block that every GPU has. */
const MIN_SHARED = 48 * 1024;

/** The number of rows for which a kernel for a batch's capacity is compiled. */
export function bucketOf(capacity: number): number {
  return rowBucket(capacity, MATVEC_ROWS);
}

/** Bytes of activations that a block can stage. */
export function stagedBytes({ sharedBytesOptIn }: HipCudaTarget): number {
  const half = Math.floor(sharedBytesOptIn / BLOCKS_PER_PROCESSOR);
  return Math.max(half, Math.min(MIN_SHARED, sharedBytesOptIn - CODEBOOK_BYTES)) - STATIC_SHARED;
}

/** True if a block can stage the quantized activations of a batch's rows. */
export function canStage(target: HipCudaTarget, capacity: number, columns: number): boolean {
  return q8Bytes(bucketOf(capacity), columns) <= stagedBytes(target);
}

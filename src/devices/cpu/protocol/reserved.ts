import { alignUp } from '../../../base/bytes.ts';
import { ATTENTION_PARAMETER_BYTES } from '../kernel-exports.ts';

const KIB = 1024;

/** The start of a worker's scratch: the kernels' working memory. */
export const KERNEL_SCRATCH_BYTES = 256 * KIB;

/** The attention kernel's parameters in it, followed by its working memory. */
export const ATTENTION_PARAMETERS = alignUp(ATTENTION_PARAMETER_BYTES, 64);

/** Bytes that remain for attention's working memory. */
export const ATTENTION_SCRATCH_BYTES = KERNEL_SCRATCH_BYTES - ATTENTION_PARAMETERS;

/** Maximum rows of activations that a product takes at once; its scratch grows with them. */
export const MATMUL_BLOCK_ROWS = 4096;

/** After that: file rows from another bank that are being packed, or rows of activations that have a matrix in common. */
export const FILE_SCRATCH_BYTES = 512 * KIB;

/** After that: rows that are decoded before they are packed, or products of rows that were taken together. */
export const FLOAT_SCRATCH_BYTES = 512 * KIB;

/** After that: columns of a matrix from another bank. Four rows of any matrix that a product takes are fewer. */
export const WEIGHT_SCRATCH_BYTES = 640 * KIB;

/** Bytes in every bank that belong to one worker. */
export const SCRATCH_BYTES =
  KERNEL_SCRATCH_BYTES + FILE_SCRATCH_BYTES + FLOAT_SCRATCH_BYTES + WEIGHT_SCRATCH_BYTES;

/** The start of a worker's scratch in every bank, given the first address after the kernels' tables. */
export function scratchOf(heapBase: number, worker: number): number {
  return alignUp(heapBase, 256) + worker * SCRATCH_BYTES;
}

/** Bytes at the start of every bank that are not allocated to buffers. */
export function reservedBytes(heapBase: number, threads: number): number {
  return scratchOf(heapBase, threads);
}

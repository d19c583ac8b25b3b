import { alignUp } from '../../../base/bytes.ts';
import { ATTENTION_PARAMETER_BYTES } from '../kernel-exports.ts';

const KIB = 1024;

/** At the start of a worker's scratch: what the kernels work in. */
export const KERNEL_SCRATCH_BYTES = 256 * KIB;

/** In it, before what attention works in: its parameters. */
export const ATTENTION_PARAMETERS = alignUp(ATTENTION_PARAMETER_BYTES, 64);

/** What is left for attention then. */
export const ATTENTION_SCRATCH_BYTES = KERNEL_SCRATCH_BYTES - ATTENTION_PARAMETERS;

/** Most rows of activations that a product takes at once; its scratch grows with them. */
export const MATMUL_BLOCK_ROWS = 4096;

/** Behind that: file rows from another bank on their way into a layout. */
export const FILE_SCRATCH_BYTES = 512 * KIB;

/** Behind that: rows that are decoded before they are packed. */
export const FLOAT_SCRATCH_BYTES = 512 * KIB;

/** Bytes in every bank that only one worker touches. */
export const SCRATCH_BYTES = KERNEL_SCRATCH_BYTES + FILE_SCRATCH_BYTES + FLOAT_SCRATCH_BYTES;

/** Where a worker's scratch begins in every bank, given the first address behind the kernels' tables. */
export function scratchOf(heapBase: number, worker: number): number {
  return alignUp(heapBase, 256) + worker * SCRATCH_BYTES;
}

/** Bytes at the start of every bank that are not handed out. */
export function reservedBytes(heapBase: number, threads: number): number {
  return scratchOf(heapBase, threads);
}

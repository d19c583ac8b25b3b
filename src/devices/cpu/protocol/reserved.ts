import { alignUp } from '../../../base/bytes.ts';

/** Bytes in every bank for each worker: the largest row that is packed across banks, and what the kernels work in. */
export const SCRATCH_BYTES = 1024 * 1024;

/** Where a worker's scratch begins in every bank, given the first address behind the kernels' tables. */
export function scratchOf(heapBase: number, worker: number): number {
  return alignUp(heapBase, 256) + worker * SCRATCH_BYTES;
}

/** Bytes at the start of every bank that are not handed out. */
export function reservedBytes(heapBase: number, threads: number): number {
  return scratchOf(heapBase, threads);
}

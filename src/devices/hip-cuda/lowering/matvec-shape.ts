import { alignUp } from '../../../base/bytes.ts';
import type { MatmulOp } from '../../../ops/index.ts';
import type { LaunchScope } from './launch-plan.ts';
import { isPacked } from './packed-formats.ts';

/** Rows that the matrix-vector kernels take at once. */
export const MATVEC_ROWS = 4;
/** Shared memory of a block beside the staged activations. */
const STATIC_SHARED = 4608;
/** Two blocks a multiprocessor keep memory busy: each gets half at most. */
const BLOCKS_A_PROCESSOR = 2;
/** What every GPU has for one block. */
const LEAST_SHARED = 48 * 1024;

/** Bytes of quantized rows: 32 bytes and a scale with two sums a group. */
export function quantizedBytes(rows: number, columns: number): number {
  return rows * (columns / 32) * 40;
}

/** Elements to which a row of half floats is filled up. */
export const HALVES_CHUNK = 128;

/** Bytes of rows as half floats: whole chunks. */
export function halvesBytes(rows: number, columns: number): number {
  return 2 * rows * alignUp(columns, HALVES_CHUNK);
}

/** The rows that a kernel for a batch's capacity is made for. */
export function rowBucket(capacity: number): number {
  return 2 ** Math.ceil(Math.log2(Math.min(capacity, MATVEC_ROWS)));
}

/** True when a block can hold the rows' quantized activations. */
export function canStage(to: LaunchScope, capacity: number, columns: number): boolean {
  const half = Math.floor(to.target.sharedBytesOptIn / BLOCKS_A_PROCESSOR);
  const most = Math.max(half, Math.min(LEAST_SHARED, to.target.sharedBytesOptIn)) - STATIC_SHARED;
  return quantizedBytes(rowBucket(capacity), columns) <= most;
}

/** True for products of packed weights, which read their activations in forms of their own. */
export function isInteger({ weight }: MatmulOp): boolean {
  return isPacked(weight.format);
}

/** True for products that the matrix cores compute. */
export function isProduct({ x, weight }: MatmulOp, to: LaunchScope): boolean {
  return isPacked(weight.format) && to.capacity(x) > MATVEC_ROWS;
}

/** True for products that the integer matrix-vector kernels compute. */
export function isMatvec({ x, weight }: MatmulOp, to: LaunchScope): boolean {
  return isPacked(weight.format) && to.capacity(x) <= MATVEC_ROWS;
}

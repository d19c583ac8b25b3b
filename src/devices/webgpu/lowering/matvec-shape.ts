import type { MatmulOp } from '../../../ops/index.ts';
import type { LaunchScope } from './launch-plan.ts';
import { packedFormat } from './packed-formats.ts';

/** Rows that the matrix-vector kernels take at once. */
export const MATVEC_ROWS = 8;

/** Bytes of quantized rows: 32 bytes, and a scale with two sums, a group. */
export function quantizedBytes(rows: number, columns: number): number {
  return rows * (columns / 32) * 40;
}

/** The word of quantized rows at which their scales start. */
export function quantizedScalesAt(rows: number, columns: number): number {
  return (rows * columns) / 4;
}

/** The rows that a kernel for a batch's capacity is made for. */
export function rowBucket(capacity: number): number {
  return 2 ** Math.ceil(Math.log2(Math.min(capacity, MATVEC_ROWS)));
}

/** True for products of packed weights, which read quantized activations where the batch is small. */
export function isInteger({ weight }: MatmulOp): boolean {
  return packedFormat(weight.format) !== undefined;
}

/** True for products that the matrix-vector kernels compute. */
export function isMatvec({ x }: MatmulOp, to: LaunchScope): boolean {
  return to.capacity(x) <= MATVEC_ROWS;
}

/** True for products that multiply integers: of few rows always, of more by packed dot products where there are no matrix units. */
export function takesQuantized(op: MatmulOp, to: LaunchScope): boolean {
  const { packedDot, matrices } = to.target;
  return isInteger(op) && (isMatvec(op, to) || (packedDot && !matrices));
}

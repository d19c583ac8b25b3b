import { type Cost, rowwiseCost } from './cost.ts';
import type { Recorder } from './recorder.ts';
import type { Tensor } from './value.ts';

/**
 * The sum of what the ranks of a group computed, in the order of the ranks and rounded to f32 after each addition, so that all ranks
 * get the same bits: `out = ((x of rank 0 + x of rank 1) + x of rank 2) + ...`. f32 [x.axis, x.width] on every rank.
 */
export interface AllReduceOp {
  readonly kind: 'allReduce';
  readonly x: Tensor;
  readonly out: Tensor;
}

/** What the ranks computed, side by side in every row: f32 [x.axis, sum of `widths`] on every rank. */
export interface AllGatherOp {
  readonly kind: 'allGather';
  readonly x: Tensor;
  /** The width of each rank's `x`. */
  readonly widths: readonly number[];
  readonly out: Tensor;
}

/**
 * Operators that the ranks of a `DeviceGroup` compute together: the n-th of a step on one rank meets the n-th on all others. A device
 * alone cannot compute them.
 */
export type CollectiveOp = AllReduceOp | AllGatherOp;

/** Sums a tensor over the ranks of the group: [x.axis, x.width]. */
export function allReduce(g: Recorder<AllReduceOp>, x: Tensor): Tensor {
  g.require(x.type === 'f32', `${x.name} holds f32`);
  const out = g.temp('allReduce', { axis: x.axis, width: x.width });
  g.push({ kind: 'allReduce', x, out });
  return out;
}

/** Puts the ranks' tensors side by side: [x.axis, sum of `widths`]. */
export function allGather(g: Recorder<AllGatherOp>, x: Tensor, widths: readonly number[]): Tensor {
  g.require(x.type === 'f32', `${x.name} holds f32`);
  g.require(
    widths.includes(x.width) && widths.every((width) => Number.isSafeInteger(width) && width > 0),
    `${x.name} is as wide as one of the ranks' pieces`,
  );
  const out = g.temp('allGather', { axis: x.axis, width: sumOf(widths) });
  g.push({ kind: 'allGather', x, widths, out });
  return out;
}

/** True for an operator that ranks compute together. */
export function isCollective<O extends { readonly kind: string }>(op: O): op is O & CollectiveOp {
  return op.kind === 'allReduce' || op.kind === 'allGather';
}

/** Computes a collective's result from `rows` rows of every rank's `x`. */
export function computeCollective(
  op: CollectiveOp,
  parts: readonly Float32Array[],
  { rows, out }: { readonly rows: number; readonly out: Float32Array },
): void {
  if (op.kind === 'allReduce') sumRanks(parts, out.subarray(0, rows * op.out.width));
  else joinRanks(op, parts, { rows, out });
}

function sumRanks([first, ...others]: readonly Float32Array[], out: Float32Array): void {
  if (first) out.set(first.subarray(0, out.length));
  for (const part of others) {
    // Elements of f32 arrays are rounded as they are stored.
    for (let i = 0; i < out.length; i++) out[i] = (out[i] as number) + (part[i] as number);
  }
}

function joinRanks(
  { widths, out: { width } }: AllGatherOp,
  parts: readonly Float32Array[],
  { rows, out }: { readonly rows: number; readonly out: Float32Array },
): void {
  let column = 0;
  for (const [rank, own = 0] of widths.entries()) {
    const part = parts[rank] as Float32Array;
    for (let row = 0; row < rows; row++) {
      out.set(part.subarray(row * own, (row + 1) * own), row * width + column);
    }
    column += own;
  }
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}

/** Reads its own piece and writes the result once; what crosses between ranks is at least as much as is written. */
export function collectiveCost({ x, out }: CollectiveOp, rows: number): Cost {
  return rowwiseCost(rows, x.width + out.width, out.width);
}

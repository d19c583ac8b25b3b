import { type Cost, rowwiseCost } from './cost.ts';
import type { Recorder } from './recorder.ts';
import type { Tensor, Weight } from './value.ts';

/**
 * `out = (x - mean) / sqrt(variance + epsilon) * weight + bias`, mean and variance over each group of `size` values of a row
 * (Wu & He 2018).
 */
export interface GroupNormOp {
  readonly kind: 'groupNorm';
  readonly x: Tensor;
  readonly size: number;
  readonly weight: Weight;
  readonly bias: Weight;
  readonly epsilon: number;
  readonly out: Tensor;
}

/**
 * `out = x / max(|x|, epsilon)` over each group of `size` values of a row; or, by root mean square, `out = x /
 * sqrt(mean(x²) + epsilon)`, an RMS norm without factors.
 */
export interface L2NormOp {
  readonly kind: 'l2Norm';
  readonly x: Tensor;
  readonly by: 'length' | 'rms';
  readonly size: number;
  readonly epsilon: number;
  readonly out: Tensor;
}

/** Normalizes groups of values by their mean and variance: [x.axis, x.width]. */
export function groupNorm(
  g: Recorder<GroupNormOp>,
  x: Tensor,
  of: { size: number; weight: Weight; bias: Weight; epsilon: number },
): Tensor {
  g.require(x.width % of.size === 0, `groups of ${of.size} divide the row of ${x.width} evenly`);
  const fits = [of.weight, of.bias].every(({ columns }) => columns === x.width);
  g.require(fits, `${of.weight.name} and its bias have ${x.width} values`);
  const out = g.temp('groupNorm', { axis: x.axis, width: x.width });
  g.push({ kind: 'groupNorm', x, ...of, out });
  return out;
}

/** Normalizes groups of values to length 1, or to a mean square of 1: [x.axis, x.width]. */
export function l2Norm(
  g: Recorder<L2NormOp>,
  x: Tensor,
  { by = 'length', ...of }: { by?: L2NormOp['by']; size: number; epsilon: number },
): Tensor {
  g.require(x.width % of.size === 0, `groups of ${of.size} divide the row of ${x.width} evenly`);
  const out = g.temp('l2Norm', { axis: x.axis, width: x.width });
  g.push({ kind: 'l2Norm', x, by, ...of, out });
  return out;
}

/** Reads and writes each row once. */
export function groupNormCost(op: GroupNormOp | L2NormOp, rows: number): Cost {
  return rowwiseCost(rows, 2 * op.x.width, 6 * op.x.width);
}

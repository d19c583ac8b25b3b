import { type Cost, rowwiseCost } from './cost.ts';
import type { Recorder } from './recorder.ts';
import type { Tensor, Weight } from './value.ts';

/**
 * `out = x / sqrt(mean(x²) + epsilon) * weight`, over each group of `size` values of a row: usually the whole row, or a head for
 * models that normalize queries and keys (Zhang & Sennrich 2019).
 */
export interface RmsNormOp {
  readonly kind: 'rmsNorm';
  readonly x: Tensor;
  readonly size: number;
  /** One row of `size` values for all groups, or one row per group; undefined for a norm without factors. */
  readonly weight: Weight | undefined;
  readonly epsilon: number;
  readonly out: Tensor;
}

/** A norm whose groups share a row of weights, which kernels can fuse with the operators before or after it. */
export type SharedWeightRmsNormOp = RmsNormOp & { readonly weight: Weight };

/** `out = (x - mean) / sqrt(variance + epsilon) * weight (+ bias)` over the whole row (Ba et al. 2016). */
export interface LayerNormOp {
  readonly kind: 'layerNorm';
  readonly x: Tensor;
  readonly weight: Weight;
  readonly bias: Weight | undefined;
  readonly epsilon: number;
  readonly out: Tensor;
}

/** Normalizes by root mean square, over groups as wide as the weight's rows or of `size` values: [x.axis, x.width]. */
export function rmsNorm(
  g: Recorder<RmsNormOp>,
  x: Tensor,
  of: Weight | { readonly size: number },
  epsilon: number,
): Tensor {
  const weight = 'size' in of ? undefined : of;
  const size = 'size' in of ? of.size : of.columns;
  g.require(x.width % size === 0, `groups of ${size} divide the row of ${x.width} evenly`);
  const fits = !weight || weight.rows === 1 || weight.rows * size === x.width;
  g.require(fits, `${weight?.name} has a row of ${size} values, or one for each group of ${x.width}`);
  const out = g.temp('rmsNorm', { axis: x.axis, width: x.width });
  g.push({ kind: 'rmsNorm', x, size, weight, epsilon, out });
  return out;
}

/** Whether all groups share one row of weights. */
export function hasSharedWeight(op: RmsNormOp): op is SharedWeightRmsNormOp {
  return op.weight?.rows === 1;
}

/** Normalizes by mean and variance: [x.axis, x.width]. */
export function layerNorm(
  g: Recorder<LayerNormOp>,
  x: Tensor,
  of: { weight: Weight; bias?: Weight; epsilon: number },
): Tensor {
  g.require(of.weight.columns === x.width, `${of.weight.name} has ${x.width} values`);
  g.require(of.bias === undefined || of.bias.columns === x.width, `the bias has ${x.width} values`);
  const out = g.temp('layerNorm', { axis: x.axis, width: x.width });
  g.push({
    kind: 'layerNorm',
    x,
    weight: of.weight,
    bias: of.bias,
    epsilon: of.epsilon,
    out,
  });
  return out;
}

/** Reads and writes each row once. */
export function normCost(op: RmsNormOp | LayerNormOp, rows: number): Cost {
  return rowwiseCost(rows, 2 * op.x.width, 6 * op.x.width);
}

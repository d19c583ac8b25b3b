import { type Cost, rowwiseCost } from './cost.ts';
import type { Recorder } from './recorder.ts';
import type { Tensor, Weight } from './value.ts';

/**
 * `out = x / sqrt(mean(x²) + epsilon) * weight`, over each group of `weight.columns` values of a row: usually the whole
 * row, or a head for models that normalize queries and keys (Zhang & Sennrich 2019).
 */
export interface RmsNormOp {
  readonly kind: 'rmsNorm';
  readonly x: Tensor;
  readonly weight: Weight;
  readonly epsilon: number;
  readonly out: Tensor;
}

/** `out = (x - mean) / sqrt(variance + epsilon) * weight (+ bias)` over the whole row (Ba et al. 2016). */
export interface LayerNormOp {
  readonly kind: 'layerNorm';
  readonly x: Tensor;
  readonly weight: Weight;
  readonly bias: Weight | undefined;
  readonly epsilon: number;
  readonly out: Tensor;
}

/** Normalizes by the root of the mean square: [x.axis, x.width]. */
export function rmsNorm(g: Recorder<RmsNormOp>, x: Tensor, weight: Weight, epsilon: number): Tensor {
  g.require(x.width % weight.columns === 0, `${weight.name} divides the row of ${x.width} evenly`);
  const out = g.temp('rmsNorm', { axis: x.axis, width: x.width });
  g.push({ kind: 'rmsNorm', x, weight, epsilon, out });
  return out;
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

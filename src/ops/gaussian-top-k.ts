import { type Cost, rowwiseCost } from './cost.ts';
import type { Recorder } from './recorder.ts';
import type { Tensor } from './value.ts';

/**
 * `out = max(x - (mean + deviations * s), 0)` over each row, `s` being its standard deviation, `sqrt(sum((x - mean)²) / (width -
 * 1))`: what lies above a quantile of the normal distribution with the row's mean and deviation (Gemma 3n; "Spark Transformer",
 * 2025). Transformers divides by the width, which makes no difference at the width of published models; llama.cpp as above.
 */
export interface GaussianTopKOp {
  readonly kind: 'gaussianTopK';
  readonly x: Tensor;
  /** How many standard deviations above the mean the threshold is. */
  readonly deviations: number;
  readonly out: Tensor;
}

/** Keeps what is above a threshold from each row's distribution, and makes the rest zero: [x.axis, x.width]. */
export function gaussianTopK(g: Recorder<GaussianTopKOp>, x: Tensor, deviations: number): Tensor {
  g.require(x.width > 1 && Number.isFinite(deviations), 'a threshold needs two values and a finite number');
  const out = g.temp('gaussianTopK', { axis: x.axis, width: x.width });
  g.push({ kind: 'gaussianTopK', x, deviations, out });
  return out;
}

/** Reads and writes each row once. */
export function gaussianTopKCost({ x }: GaussianTopKOp, rows: number): Cost {
  return rowwiseCost(rows, 2 * x.width, 6 * x.width);
}

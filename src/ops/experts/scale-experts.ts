import { type Cost, rowwiseCost } from '../cost.ts';
import type { Recorder } from '../recorder.ts';
import type { Tensor, Weight } from '../value.ts';

/** `out[r, j * width + n] = x[r, j * width + n] * scales[expertIds[r, j]]`: a factor per expert. */
export interface ScaleExpertsOp {
  readonly kind: 'scaleExperts';
  readonly x: Tensor;
  /** i32 [rows, topK]: expert indices. */
  readonly expertIds: Tensor;
  /** A vector with one value per expert. */
  readonly scales: Weight;
  readonly out: Tensor;
}

/** Multiplies the selected experts' results, side by side in `x`, by their factors: [x.axis, x.width]. */
export function scaleExperts(
  g: Recorder<ScaleExpertsOp>,
  x: Tensor,
  { expertIds, scales }: { expertIds: Tensor; scales: Weight },
): Tensor {
  g.require(expertIds.type === 'i32' && expertIds.axis === x.axis, 'each row of x has experts');
  g.require(x.width % expertIds.width === 0, `${expertIds.width} results stand side by side in ${x.name}`);
  g.require(scales.rows === 1, `${scales.name} is a vector`);
  const out = g.temp('scaleExperts', { axis: x.axis, width: x.width });
  g.push({ kind: 'scaleExperts', x, expertIds, scales, out });
  return out;
}

/** Reads each element and writes it once. */
export function scaleExpertsCost(op: ScaleExpertsOp, rows: number): Cost {
  return rowwiseCost(rows, 2 * op.x.width + op.expertIds.width, op.x.width);
}

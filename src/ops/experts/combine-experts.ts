import { type Cost, rowwiseCost } from '../cost.ts';
import type { Recorder } from '../recorder.ts';
import type { Tensor } from '../value.ts';

/** `out[r, n] = sum_j shares[r, j] * x[r, j * width + n]`, in the order of the choices. */
export interface CombineExpertsOp {
  readonly kind: 'combineExperts';
  readonly x: Tensor;
  readonly shares: Tensor;
  readonly out: Tensor;
}

/** Adds the chosen experts' results up by their shares: [x.axis, x.width / shares.width]. */
export function combineExperts(g: Recorder<CombineExpertsOp>, x: Tensor, shares: Tensor): Tensor {
  g.require(x.axis === shares.axis && shares.type === 'f32', 'each row of x has shares');
  g.require(x.width % shares.width === 0, `${shares.width} results stand side by side in ${x.name}`);
  const out = g.temp('combineExperts', { axis: x.axis, width: x.width / shares.width });
  g.push({ kind: 'combineExperts', x, shares, out });
  return out;
}

/** Reads each operand and writes the result once. */
export function combineExpertsCost(op: CombineExpertsOp, rows: number): Cost {
  return rowwiseCost(rows, op.x.width + op.shares.width + op.out.width, 2 * op.x.width);
}

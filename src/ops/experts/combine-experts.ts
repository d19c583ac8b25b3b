import { type Cost, rowwiseCost } from '../cost.ts';
import type { Recorder } from '../recorder.ts';
import type { Tensor } from '../value.ts';

/** `out[r, n] = sum_j routingWeights[r, j] * x[r, j * width + n]`, summed in the order of the choices. */
export interface CombineExpertsOp {
  readonly kind: 'combineExperts';
  readonly x: Tensor;
  readonly routingWeights: Tensor;
  readonly out: Tensor;
}

/** Sums the selected experts' results, weighted by their routing weights: [x.axis, x.width / routingWeights.width]. */
export function combineExperts(g: Recorder<CombineExpertsOp>, x: Tensor, routingWeights: Tensor): Tensor {
  g.require(
    x.axis === routingWeights.axis && routingWeights.type === 'f32',
    'each row of x has routingWeights',
  );
  g.require(
    x.width % routingWeights.width === 0,
    `${routingWeights.width} results stand side by side in ${x.name}`,
  );
  const out = g.temp('combineExperts', { axis: x.axis, width: x.width / routingWeights.width });
  g.push({ kind: 'combineExperts', x, routingWeights, out });
  return out;
}

/** Reads each operand and writes the result once. */
export function combineExpertsCost(op: CombineExpertsOp, rows: number): Cost {
  return rowwiseCost(rows, op.x.width + op.routingWeights.width + op.out.width, 2 * op.x.width);
}

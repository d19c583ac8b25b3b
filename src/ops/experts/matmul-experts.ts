import type { Cost } from '../cost.ts';
import type { Recorder } from '../recorder.ts';
import { type State, type Tensor, type Weight, weightRowBytes } from '../value.ts';

/** Copies of some experts' matrices, in memory that is faster than the weight's. */
export interface HotExperts {
  /** Matrices of the same size and format as the weight's, fewer of them. */
  readonly weight: Weight;
  /** i32 [1, experts]: which of them each expert's is; negative for those that are read from the weight itself. */
  readonly slots: State;
}

/**
 * A product with the weights of each row's selected experts, which are stacked in `weight`: `out[r, j * outputs + n] =
 * sum_k x[r, k (+ j * columns)] * decode(weight)[expertIds[r, j] * outputs + n, k] (+ bias[expertIds[r, j], n])`. All choices of
 * a row read the same `x`, or each its own part of it. Activations may be quantized as in a `matmul`. With `hot`, the matrix of
 * expert `e` is number `hot.slots[e]` of `hot.weight` where that is not negative.
 */
export interface MatmulExpertsOp {
  readonly kind: 'matmulExperts';
  readonly x: Tensor;
  /** i32 [rows, topK]: expert indices. */
  readonly expertIds: Tensor;
  readonly weight: Weight;
  /** Rows of an expert's weight. */
  readonly outputs: number;
  /** A row of `outputs` values for each expert. */
  readonly bias: Weight | undefined;
  readonly hot?: HotExperts | undefined;
  readonly out: Tensor;
}

/** Multiplies by the selected experts' weights: [x.axis, topK * outputs]. */
export function matmulExperts(
  g: Recorder<MatmulExpertsOp>,
  x: Tensor,
  of: Pick<MatmulExpertsOp, 'expertIds' | 'weight' | 'outputs' | 'hot'> & { bias?: Weight | undefined },
): Tensor {
  const { expertIds, weight, outputs, bias, hot } = of;
  const topK = expertIds.width;
  g.require(expertIds.type === 'i32' && expertIds.axis === x.axis, 'each row of x has experts');
  g.require(weight.rows % outputs === 0, `${weight.name} has ${outputs} rows for each expert`);
  const isWhole = !bias || (bias.columns === outputs && bias.rows === weight.rows / outputs);
  g.require(isWhole, `${bias?.name} has ${outputs} values for each expert`);
  const fits = x.width === weight.columns || x.width === topK * weight.columns;
  g.require(
    fits,
    `x is ${weight.columns} wide for ${weight.name}, or as wide for each choice, not ${x.width}`,
  );
  const out = g.temp('matmulExperts', { axis: x.axis, width: topK * outputs });
  g.push({ kind: 'matmulExperts', x, expertIds, weight, outputs, bias, ...(hot && { hot }), out });
  return out;
}

/** True if each choice of a row multiplies its own part of the row. */
export function readsOwnPart({ x, weight }: MatmulExpertsOp): boolean {
  return x.width !== weight.columns;
}

/** Reads the selected experts' weights once; assumes the maximum number of distinct experts. */
export function matmulExpertsCost(op: MatmulExpertsOp, rows: number): Cost {
  const { weight, outputs, expertIds, out, x } = op;
  const used = Math.min(rows * expertIds.width * outputs, weight.rows);
  const flops = 2 * rows * out.width * weight.columns;
  return { bytes: used * weightRowBytes(weight) + 4 * rows * (x.width + out.width), flops };
}

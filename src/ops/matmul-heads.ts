import type { Cost } from './cost.ts';
import type { Recorder } from './recorder.ts';
import { type Tensor, type Weight, weightRowBytes } from './value.ts';

/**
 * A product of each head with its own matrix; the matrices are stacked in `weight`: `out[r, h * outputs + n] = sum_k
 * x[r, h * columns + k] * decode(weight)[h * outputs + n, k]` (DeepSeek-AI 2024, "DeepSeek-V2": the projections
 * absorbed into queries and outputs). Activations may be quantized as in a `matmul`.
 */
export interface MatmulHeadsOp {
  readonly kind: 'matmulHeads';
  readonly x: Tensor;
  readonly weight: Weight;
  readonly heads: number;
  /** Rows of a head's matrix. */
  readonly outputs: number;
  readonly out: Tensor;
}

/** Multiplies each of `heads` parts of a row by its own matrix: f32 [x.axis, weight.rows]. */
export function matmulHeads(g: Recorder<MatmulHeadsOp>, x: Tensor, weight: Weight, heads: number): Tensor {
  g.require(weight.rows % heads === 0, `${weight.name} has as many rows for each of ${heads} heads`);
  const width = heads * weight.columns;
  g.require(x.width === width, `x is ${heads} x ${weight.columns} wide for ${weight.name}, not ${x.width}`);
  const out = g.temp('matmulHeads', { axis: x.axis, width: weight.rows });
  g.push({ kind: 'matmulHeads', x, weight, heads, outputs: weight.rows / heads, out });
  return out;
}

/** Reads the weight once for all rows; one multiply-add per weight and row. */
export function matmulHeadsCost({ x, weight, out }: MatmulHeadsOp, rows: number): Cost {
  return {
    bytes: weight.rows * weightRowBytes(weight) + 4 * rows * (x.width + out.width),
    flops: 2 * rows * weight.rows * weight.columns,
  };
}

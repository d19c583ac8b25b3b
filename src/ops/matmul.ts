import type { Cost } from './cost.ts';
import type { Recorder } from './recorder.ts';
import type { Tensor, Weight } from './value.ts';

/**
 * `out[r, n] = sum_k x[r, k] * decode(weight)[n, k] (+ bias[n])`. If the weight is quantized, a device may quantize `x`
 * to 8 bits in groups of 32, or round it to f16, saturating at the largest finite value. With F16 and BF16 weights and more
 * than four rows it may round `x` once to the weight's type, f16 saturating, and multiplies the numbers exactly; otherwise, and with F32
 * weights, it multiplies in f32. Sums are f32.
 */
export interface MatmulOp {
  readonly kind: 'matmul';
  readonly x: Tensor;
  readonly weight: Weight;
  readonly bias: Weight | undefined;
  readonly out: Tensor;
}

/** Multiplies by a weight in the file's orientation, where a row produces one output: [x.axis, weight.rows]. */
export function matmul(g: Recorder<MatmulOp>, x: Tensor, weight: Weight, bias?: Weight): Tensor {
  g.require(x.width === weight.columns, `x is ${weight.columns} wide for ${weight.name}, not ${x.width}`);
  g.require(
    bias === undefined || bias.columns === weight.rows,
    `the bias of ${weight.name} has ${weight.rows} values`,
  );
  const out = g.temp('matmul', { axis: x.axis, width: weight.rows });
  g.push({ kind: 'matmul', x, weight, bias, out });
  return out;
}

/** Reads the weight once for all rows; one multiply-add per weight and row. */
export function matmulCost(op: MatmulOp, rows: number): Cost {
  const { format, columns, rows: outputs } = op.weight;
  const weightBytes = outputs * (columns / format.blockElements) * format.blockBytes;
  return { bytes: weightBytes + 4 * rows * (columns + outputs), flops: 2 * rows * columns * outputs };
}

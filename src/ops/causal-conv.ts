import { type Cost, rowwiseCost } from './cost.ts';
import type { Activation } from './elementwise.ts';
import type { Recorder } from './recorder.ts';
import type { BatchTensors, State, Tensor, Weight } from './value.ts';

/**
 * A depthwise causal convolution over the rows of each sequence (Gu & Dao 2023, "Mamba", section 3.4; ggml's
 * `ssm_conv`). With `x[r - t]` for the sequence's row `t` positions earlier, zeros before position 0, and a kernel of
 * `K` taps: `out[r, c] = fn(bias[c] + sum_t weight[c, K - 1 - t] * x[r - t, c])`, `t` from 0 to `K - 1`.
 */
export interface CausalConvOp {
  readonly kind: 'causalConv';
  readonly x: Tensor;
  /** A row of taps for each column of `x`; the last tap is the current row's. */
  readonly weight: Weight;
  readonly bias: Weight | undefined;
  readonly fn: Activation | undefined;
  /** f32 [slots, (K - 1) * x.width]: the sequence's last K - 1 rows, oldest first. */
  readonly last: State;
  readonly batch: Pick<BatchTensors, 'slots' | 'slotRows' | 'positions'>;
  readonly out: Tensor;
}

/** Convolves each column with its own taps: [rows, x.width]; `last` has the sequence's preceding rows. */
export function causalConv(
  g: Recorder<CausalConvOp>,
  x: Tensor,
  of: { weight: Weight; bias?: Weight | undefined; fn?: Activation; last: State },
): Tensor {
  const { weight, bias, fn, last } = of;
  const { width } = x;
  g.require(x.axis === 'rows', 'token rows are convolved');
  g.require(
    weight.rows === width && weight.columns > 1,
    `${weight.name} has ${width} rows of two taps or more`,
  );
  g.require(!bias || (bias.rows === 1 && bias.columns === width), `the bias has ${width} values`);
  const kept = (weight.columns - 1) * width;
  const fits = last.type === 'f32' && last.width === kept && last.rows >= g.shape.slots;
  g.require(fits, `${last.name} is f32, with ${kept} values for each slot`);
  const out = g.temp('causalConv', { axis: 'rows', width });
  const { slots, slotRows, positions } = g.batch;
  g.push({ kind: 'causalConv', x, weight, bias, fn, last, batch: { slots, slotRows, positions }, out });
  return out;
}

/** Reads each row once and writes the result; preceding rows stay in registers. */
export function causalConvCost({ x, weight }: CausalConvOp, rows: number): Cost {
  return rowwiseCost(rows, 2 * x.width, 2 * weight.columns * x.width);
}

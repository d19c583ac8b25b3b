import { type Cost, rowwiseCost } from './cost.ts';
import type { Recorder } from './recorder.ts';
import type { BatchTensors, State, Tensor, Weight } from './value.ts';

/** What a row's heads of a selective state space are given. */
export interface SelectiveScanOperands {
  /** f32 [rows, heads * headSize]. */
  readonly x: Tensor;
  /** Steps of time, not negative: f32 [rows, heads]. */
  readonly dt: Tensor;
  /** What is written, and what is read: f32 [rows, groups * stateSize]. */
  readonly b: Tensor;
  readonly c: Tensor;
}

/** The sizes of the heads, and their weights. */
export interface SelectiveScanShape {
  readonly heads: number;
  readonly headSize: number;
  readonly stateSize: number;
  /** `heads / groups` heads that follow each other share `b` and `c`. */
  readonly groups: number;
  /** Rates, below 0: a row for each head, of one value (Mamba-2) or of one a state (Mamba-1, whose heads are one value wide). */
  readonly a: Weight;
  /** How much of `x` itself comes out, a value for each head. */
  readonly d: Weight;
}

/**
 * A selective state space model: Mamba-1's scan (Gu & Dao 2023) and Mamba-2's (Dao & Gu 2024, "Transformers are SSMs"; ggml's
 * `ssm_scan`). With `S` the head's matrix in the row's slot, zero where `positions[r]` is 0, row after row:
 * `S[i, n] = S[i, n] exp(dt a[n]) + dt x[i] b[n]`, `out[i] = sum_n S[i, n] c[n] + d x[i]`.
 */
export interface SelectiveScanOp extends SelectiveScanOperands, SelectiveScanShape {
  readonly kind: 'selectiveScan';
  /** f32 [slots, heads * headSize * stateSize]: head after head, `S` by rows. */
  readonly state: State;
  readonly batch: Pick<BatchTensors, 'slots' | 'positions'>;
  readonly out: Tensor;
}

/** Runs the recurrence over the rows of each sequence: f32 [rows, heads * headSize]. */
export function selectiveScan(
  g: Recorder<SelectiveScanOp>,
  operands: SelectiveScanOperands,
  of: SelectiveScanShape & { readonly state: State },
): Tensor {
  const { x, dt, b, c } = operands;
  const { heads, headSize, stateSize, groups, a, d, state } = of;
  const areRows = [x, dt, b, c].every(({ axis }) => axis === 'rows');
  g.require(areRows, 'all operands are token rows');
  g.require(heads % groups === 0, `${groups} groups divide ${heads} heads evenly`);
  g.require(x.width === heads * headSize, `the heads are ${heads * headSize} wide`);
  g.require(dt.width === heads, `there is a step for each of ${heads} heads`);
  const inputs = groups * stateSize;
  g.require(b.width === inputs && c.width === inputs, `b and c are ${inputs} wide`);
  const rates = a.rows === heads && (a.columns === 1 || a.columns === stateSize);
  g.require(rates, `${a.name} has ${heads} rows, of 1 or ${stateSize} rates`);
  g.require(d.rows * d.columns === heads, `${d.name} has ${heads} values`);
  const kept = heads * headSize * stateSize;
  const fits = state.type === 'f32' && state.width === kept && state.rows >= g.shape.slots;
  g.require(fits, `${state.name} is f32, with ${kept} values for each slot`);
  const out = g.temp('selectiveScan', { axis: 'rows', width: x.width });
  const { slots, positions } = g.batch;
  g.push({ kind: 'selectiveScan', ...operands, ...of, batch: { slots, positions }, out });
  return out;
}

/** Reads and writes the state once a row and sequence at most; about five operations a value of it. */
export function selectiveScanCost({ x, dt, b, c, state, out }: SelectiveScanOp, rows: number): Cost {
  const operands = [x, dt, b, c, out].reduce((sum, { width }) => sum + width, 0);
  return rowwiseCost(rows, operands + 2 * state.width, 5 * state.width);
}

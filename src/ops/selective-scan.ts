import { type Cost, rowwiseCost } from './cost.ts';
import type { Recorder } from './recorder.ts';
import type { BatchTensors, State, Tensor, Weight } from './value.ts';

/** The per-row inputs of a selective state space model. */
export interface SelectiveScanOperands {
  /** f32 [rows, heads * headSize]. */
  readonly x: Tensor;
  /** Input and output projections of the state: f32 [rows, groups * stateSize]. */
  readonly b: Tensor;
  readonly c: Tensor;
}

/** How a state decays: by time steps and learned rates, or by factors that each row gives. */
export type ScanDecay =
  | {
      /** Time steps, not negative: f32 [rows, heads]. */
      readonly dt: Tensor;
      /**
       * Rates, below 0: one row per head, with one value (Mamba-2) or one per state element (Mamba-1, whose heads have one
       * value).
       */
      readonly a: Weight;
      /** The skip connection of `x`, one value per head. */
      readonly d: Weight;
      readonly decay?: undefined;
    }
  | {
      /** Factors on the state's elements, 0 to 1: f32 [rows, groups * stateSize]. */
      readonly decay: Tensor;
      readonly dt?: undefined;
      readonly a?: undefined;
      readonly d?: undefined;
    };

/** The sizes of the heads. */
export interface SelectiveScanShape {
  readonly heads: number;
  readonly headSize: number;
  readonly stateSize: number;
  /** Each group of `heads / groups` consecutive heads shares `b` and `c`. */
  readonly groups: number;
}

/**
 * A selective state space model: Mamba-1's scan (Gu & Dao 2023) and Mamba-2's (Dao & Gu 2024, "Transformers are SSMs"; ggml's
 * `ssm_scan`). With `S` the head's matrix in the row's slot, zero where `positions[r]` is 0, row after row:
 * `S[i, n] = S[i, n] exp(dt a[n]) + dt x[i] b[n]`, `out[i] = sum_n S[i, n] c[n] + d x[i]`. With factors of each row it is gated linear
 * attention (Yang et al. 2023): `S[i, n] = S[i, n] decay[n] + x[i] b[n]`, `out[i] = sum_n S[i, n] c[n]`.
 */
export type SelectiveScanOp = SelectiveScanOperands &
  SelectiveScanShape &
  ScanDecay & {
    readonly kind: 'selectiveScan';
    /** f32 [slots, heads * headSize * stateSize]: one matrix `S` per head, row-major. */
    readonly state: State;
    readonly batch: Pick<BatchTensors, 'slots' | 'slotRows' | 'positions'>;
    readonly out: Tensor;
  };

/** Runs the recurrence over the rows of each sequence: f32 [rows, heads * headSize]. */
export function selectiveScan(
  g: Recorder<SelectiveScanOp>,
  operands: SelectiveScanOperands,
  of: SelectiveScanShape & ScanDecay & { readonly state: State },
): Tensor {
  const { x, b, c } = operands;
  const { heads, headSize, stateSize, groups, state } = of;
  const areRows = [x, of.dt ?? of.decay, b, c].every(({ axis }) => axis === 'rows');
  g.require(areRows, 'all operands are token rows');
  g.require(heads % groups === 0, `${groups} groups divide ${heads} heads evenly`);
  g.require(x.width === heads * headSize, `the heads are ${heads * headSize} wide`);
  const inputs = groups * stateSize;
  g.require(b.width === inputs && c.width === inputs, `b and c are ${inputs} wide`);
  if (of.decay) g.require(of.decay.width === inputs, `there is a factor for each of ${inputs} elements`);
  else requireRates(g, of, { heads, stateSize });
  const kept = heads * headSize * stateSize;
  const fits = state.type === 'f32' && state.width === kept && state.rows >= g.shape.slots;
  g.require(fits, `${state.name} is f32, with ${kept} values for each slot`);
  const out = g.temp('selectiveScan', { axis: 'rows', width: x.width });
  const { slots, slotRows, positions } = g.batch;
  g.push({ kind: 'selectiveScan', ...operands, ...of, batch: { slots, slotRows, positions }, out });
  return out;
}

function requireRates(
  g: Recorder<never>,
  { dt, a, d }: Extract<ScanDecay, { decay?: undefined }>,
  { heads, stateSize }: Pick<SelectiveScanShape, 'heads' | 'stateSize'>,
): void {
  g.require(dt.width === heads, `there is a step for each of ${heads} heads`);
  const rates = a.rows === heads && (a.columns === 1 || a.columns === stateSize);
  g.require(rates, `${a.name} has ${heads} rows, of 1 or ${stateSize} rates`);
  g.require(d.rows * d.columns === heads, `${d.name} has ${heads} values`);
}

/** Reads and writes the state once per row, at most; about five operations per state value. */
export function selectiveScanCost({ x, b, c, state, out, ...of }: SelectiveScanOp, rows: number): Cost {
  const operands = [x, of.dt ?? of.decay, b, c, out].reduce((sum, { width }) => sum + width, 0);
  return rowwiseCost(rows, operands + 2 * state.width, 5 * state.width);
}

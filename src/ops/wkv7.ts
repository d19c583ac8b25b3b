import { type Cost, rowwiseCost } from './cost.ts';
import type { Recorder } from './recorder.ts';
import type { BatchTensors, State, Tensor, Weight } from './value.ts';

/**
 * The strongest decay of a row, chosen so that the product of sixteen rows is still a normal f32. RWKV-7's own minimum
 * is 0.545 = exp(-exp(-0.5)).
 */
export const MIN_DECAY = 1 / 128;

/**
 * Receptance, decay (`MIN_DECAY` to 1), key, value, removal key (normalized) and in-context learning rate of a row's heads.
 */
export interface Wkv7Operands {
  readonly r: Tensor;
  readonly w: Tensor;
  readonly k: Tensor;
  readonly v: Tensor;
  readonly kk: Tensor;
  readonly a: Tensor;
}

/**
 * RWKV-7's recurrence (Peng et al. 2025, "RWKV-7 Goose", section 3), for each head of `headSize` values. With `S` the
 * head's matrix in the row's slot, zero where `positions[r]` is 0, row after row:
 * `s[i] = -sum_j S[i, j] kk[j]`, `S[i, j] = S[i, j] w[j] + s[i] kk[j] a[j] + v[i] k[j]`, `out[i] = sum_j S[i, j] r[j]`.
 */
export interface Wkv7Op extends Wkv7Operands {
  readonly kind: 'wkv7';
  /** f32 [slots, width * headSize]: one matrix `S` per head, row-major. */
  readonly state: State;
  readonly headSize: number;
  readonly batch: Pick<BatchTensors, 'slots' | 'slotRows' | 'positions'>;
  readonly out: Tensor;
}

/** The contribution of a row's own token, per head: `out[i] = v[i] * sum_j r[j] k[j] weight[j]`. */
export interface WkvBonusOp {
  readonly kind: 'wkvBonus';
  readonly r: Tensor;
  readonly k: Tensor;
  readonly v: Tensor;
  readonly weight: Weight;
  readonly headSize: number;
  readonly out: Tensor;
}

/** Runs the recurrence over the rows of each sequence: [rows, width]. */
export function wkv7(
  g: Recorder<Wkv7Op>,
  operands: Wkv7Operands,
  of: { readonly state: State; readonly headSize: number },
): Tensor {
  const { state, headSize } = of;
  const { width } = operands.r;
  requireHeads(g, Object.values(operands) as Tensor[], headSize);
  const fits = state.type === 'f32' && state.width === width * headSize && state.rows >= g.shape.slots;
  g.require(fits, `${state.name} is f32, with ${width * headSize} values for each slot`);
  const out = g.temp('wkv7', { axis: 'rows', width });
  const { slots, slotRows, positions } = g.batch;
  g.push({ kind: 'wkv7', ...operands, state, headSize, batch: { slots, slotRows, positions }, out });
  return out;
}

/** The contribution of the rows' own tokens: [rows, width]. */
export function wkvBonus(
  g: Recorder<WkvBonusOp>,
  operands: Pick<Wkv7Operands, 'r' | 'k' | 'v'>,
  of: { readonly weight: Weight; readonly headSize: number },
): Tensor {
  const { width } = operands.r;
  requireHeads(g, Object.values(operands), of.headSize);
  g.require(of.weight.rows * of.weight.columns === width, `${of.weight.name} has ${width} values`);
  const out = g.temp('wkvBonus', { axis: 'rows', width });
  g.push({ kind: 'wkvBonus', ...operands, ...of, out });
  return out;
}

function requireHeads(g: Recorder<never>, operands: readonly Tensor[], headSize: number): void {
  const [first] = operands;
  const alike = operands.every(({ axis, width }) => axis === 'rows' && width === first?.width);
  g.require(alike && first !== undefined, 'all operands are token rows of one width');
  g.require((first?.width ?? 0) % headSize === 0, `heads of ${headSize} divide the row evenly`);
}

/** Reads and writes the state once per row, at most; about eight operations per state value. */
export function wkv7Cost(op: Wkv7Op, rows: number): Cost {
  const { width } = op.out;
  return rowwiseCost(rows, 7 * width + 2 * width * op.headSize, 8 * width * op.headSize);
}

/** Reads each operand and writes the result once. */
export function wkvBonusCost(op: WkvBonusOp, rows: number): Cost {
  return rowwiseCost(rows, 4 * op.out.width, 4 * op.out.width);
}

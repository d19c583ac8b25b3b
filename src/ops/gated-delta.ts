import { type Cost, rowwiseCost } from './cost.ts';
import type { Recorder } from './recorder.ts';
import type { BatchTensors, State, Tensor } from './value.ts';

/** The per-row inputs of the gated delta rule. */
export interface GatedDeltaOperands {
  /** f32 [rows, keyHeads * keySize]. */
  readonly q: Tensor;
  readonly k: Tensor;
  /** f32 [rows, heads * valueSize]. */
  readonly v: Tensor;
  /**
   * Logarithms of the decay, at most 0: one per head, f32 [rows, heads], or one per key channel, f32 [rows, heads *
   * keySize].
   */
  readonly decay: Tensor;
  /** How much of the value stored under the key is replaced: f32 [rows, heads]. */
  readonly beta: Tensor;
}

/** The sizes of the heads, and how queries and keys are normalized. */
export interface GatedDeltaShape {
  readonly heads: number;
  readonly keyHeads: number;
  readonly keySize: number;
  readonly valueSize: number;
  /** The key head of head `h`: `h % keyHeads` with 'tiled' (torch's `repeat`), `floor(h * keyHeads / heads)` with 'interleaved' (`repeat_interleave`). */
  readonly keyOrder: 'tiled' | 'interleaved';
  /** Queries and keys are divided by `sqrt(|x|² + lengthEpsilon)`. */
  readonly lengthEpsilon: number;
  /** Factor on the result. */
  readonly scale: number;
}

/**
 * The gated delta rule (Yang et al. 2025, "Gated delta networks", with one decay per head; Kimi team 2025, "Kimi
 * Linear", with one per key channel; ggml's `gated_delta_net`). With `S` the head's matrix in the row's slot, zero
 * where `positions[r]` is 0, and `q`, `k` of length 1, row after row: `S[i, j] = S[i, j] exp(decay[j])`, `d[i] = beta
 * (v[i] - sum_j S[i, j] k[j])`, `S[i, j] = S[i, j] + d[i] k[j]`, `out[i] = scale * sum_j S[i, j] q[j]`.
 */
export interface GatedDeltaOp extends GatedDeltaOperands, GatedDeltaShape {
  readonly kind: 'gatedDelta';
  /** f32 [slots, heads * valueSize * keySize]: one matrix `S` per head, row-major. */
  readonly state: State;
  readonly batch: Pick<BatchTensors, 'slots' | 'slotRows' | 'positions'>;
  readonly out: Tensor;
}

/** Runs the rule over the rows of each sequence: f32 [rows, heads * valueSize]. */
export function gatedDelta(
  g: Recorder<GatedDeltaOp>,
  operands: GatedDeltaOperands,
  of: GatedDeltaShape & { readonly state: State },
): Tensor {
  const { q, k, v, decay, beta } = operands;
  const { heads, keyHeads, keySize, valueSize, state } = of;
  const areRows = [q, k, v, decay, beta].every(({ axis }) => axis === 'rows');
  g.require(areRows, 'all operands are token rows');
  g.require(heads % keyHeads === 0, `${keyHeads} key heads divide ${heads} heads evenly`);
  const keys = keyHeads * keySize;
  g.require(q.width === keys && k.width === keys, `queries and keys are ${keys} wide`);
  g.require(v.width === heads * valueSize, `values are ${heads * valueSize} wide`);
  const decays = decay.width === heads || decay.width === heads * keySize;
  g.require(decays, `there is a decay for each of ${heads} heads, or for each of their key channels`);
  g.require(beta.width === heads, `there is a beta for each of ${heads} heads`);
  const kept = heads * valueSize * keySize;
  const fits = state.type === 'f32' && state.width === kept && state.rows >= g.shape.slots;
  g.require(fits, `${state.name} is f32, with ${kept} values for each slot`);
  const out = g.temp('gatedDelta', { axis: 'rows', width: heads * valueSize });
  const { slots, slotRows, positions } = g.batch;
  g.push({ kind: 'gatedDelta', ...operands, ...of, batch: { slots, slotRows, positions }, out });
  return out;
}

/** Reads and writes the state once per row, at most; about seven operations per state value. */
export function gatedDeltaCost({ q, k, v, decay, beta, state, out }: GatedDeltaOp, rows: number): Cost {
  const operands = [q, k, v, decay, beta, out].reduce((sum, { width }) => sum + width, 0);
  return rowwiseCost(rows, operands + 2 * state.width, 7 * state.width);
}

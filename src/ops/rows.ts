import { type Cost, rowwiseCost } from './cost.ts';
import type { Recorder } from './recorder.ts';
import type { BatchTensors, State, Tensor } from './value.ts';

/** `out[i, :] = x[index[i], :]`: the rows whose logits are needed, or those that a drafter continues. */
export interface GatherRowsOp {
  readonly kind: 'gatherRows';
  readonly x: Tensor;
  readonly index: Tensor;
  readonly out: Tensor;
}

/**
 * `out[r] = ids[r]` or, if that is negative, the token that an earlier step sampled, `tokens[-1 - ids[r]]`, so that a
 * step can be queued before the host knows the previous one's tokens; -1 if `tokens` has no such row, and `NO_TOKEN` if
 * none was sampled. Then `history[slots[r], positions[r]] = out[r]`, which the sampler's penalties read.
 */
export interface TokenAppendOp {
  readonly kind: 'tokenAppend';
  readonly history: State;
  readonly tokens: State;
  readonly batch: Pick<BatchTensors, 'ids' | 'slots' | 'positions'>;
  readonly out: Tensor;
}

/** Picks rows by their index, by default the batch's output rows: [index.axis, x.width]. */
export function gatherRows(g: Recorder<GatherRowsOp>, x: Tensor, index = g.batch.outputRows): Tensor {
  g.require(x.axis === 'rows', 'rows are picked out of token rows');
  g.require(index.type === 'i32' && index.width === 1, 'a row is picked by one number');
  const out = g.temp('gatherRows', { axis: index.axis, width: x.width });
  g.push({ kind: 'gatherRows', x, index, out });
  return out;
}

/**
 * Resolves token ids, i32 [rows, 1], and adds them to the history: `history` is i32 [slots, positions], `tokens` i32
 * [any, 1], the output of an earlier `sample`. `of` are the batch's own ids and positions unless given.
 */
export function tokenAppend(
  g: Recorder<TokenAppendOp>,
  history: State,
  tokens: State,
  of: Pick<BatchTensors, 'ids' | 'positions'> = g.batch,
): Tensor {
  g.require(history.type === 'i32' && history.rows >= g.shape.slots, 'the history has a row for each slot');
  g.require(tokens.type === 'i32' && tokens.width === 1, 'sampled tokens are one id a row');
  const out = g.temp('tokenAppend', { axis: 'rows', width: 1, type: 'i32' });
  const { ids, positions } = of;
  const { slots } = g.batch;
  g.push({ kind: 'tokenAppend', history, tokens, batch: { ids, slots, positions }, out });
  return out;
}

/** Reads and writes each picked row once. */
export function gatherRowsCost(op: GatherRowsOp, outputs: number): Cost {
  return rowwiseCost(outputs, 2 * op.out.width, 0);
}

import { type Cost, rowwiseCost } from './cost.ts';
import type { Recorder } from './recorder.ts';
import type { BatchTensors, State, Tensor } from './value.ts';

/** `out[o, :] = x[outputRows[o], :]`: the rows whose logits are wanted. */
export interface GatherRowsOp {
  readonly kind: 'gatherRows';
  readonly x: Tensor;
  readonly index: Tensor;
  readonly out: Tensor;
}

/** `history[slots[r], positions[r]] = ids[r]`: what the sampler's penalties look back on. */
export interface TokenAppendOp {
  readonly kind: 'tokenAppend';
  readonly history: State;
  readonly batch: BatchTensors;
}

/** Picks the batch's output rows: [outputs, x.width]. */
export function gatherRows(g: Recorder<GatherRowsOp>, x: Tensor): Tensor {
  g.require(x.axis === 'rows', 'output rows are picked out of token rows');
  const out = g.temp('gatherRows', { axis: 'outputs', width: x.width });
  g.push({ kind: 'gatherRows', x, index: g.batch.outputRows, out });
  return out;
}

/** Records the batch's token ids; `history` is i32 [slots, positions]. */
export function tokenAppend(g: Recorder<TokenAppendOp>, history: State): void {
  g.require(history.type === 'i32' && history.rows >= g.shape.slots, 'the history has a row for each slot');
  g.push({ kind: 'tokenAppend', history, batch: g.batch });
}

/** Reads and writes each picked row once. */
export function gatherRowsCost(op: GatherRowsOp, outputs: number): Cost {
  return rowwiseCost(outputs, 2 * op.out.width, 0);
}

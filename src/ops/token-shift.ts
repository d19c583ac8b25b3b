import { type Cost, rowwiseCost } from './cost.ts';
import type { Recorder } from './recorder.ts';
import type { BatchTensors, State, Tensor } from './value.ts';

/**
 * Row after row: `out[r] = last[slots[r]]`, zero where `positions[r]` is 0, then `last[slots[r]] = x[r]`: the
 * sequence's previous row (Peng et al. 2023, "RWKV", section 3).
 */
export interface TokenShiftOp {
  readonly kind: 'tokenShift';
  readonly x: Tensor;
  readonly last: State;
  readonly batch: Pick<BatchTensors, 'slots' | 'slotRows' | 'positions'>;
  readonly out: Tensor;
}

/** Gives each row the sequence's previous row: [rows, x.width]; `last` is f32 [slots, x.width]. */
export function tokenShift(g: Recorder<TokenShiftOp>, x: Tensor, last: State): Tensor {
  g.require(x.axis === 'rows', 'token rows are shifted');
  const fits = last.type === 'f32' && last.width === x.width && last.rows >= g.shape.slots;
  g.require(fits, `${last.name} is f32, with a row of ${x.width} for each slot`);
  const out = g.temp('tokenShift', { axis: 'rows', width: x.width });
  const { slots, slotRows, positions } = g.batch;
  g.push({ kind: 'tokenShift', x, last, batch: { slots, slotRows, positions }, out });
  return out;
}

/** Reads each row and the last one, and writes both. */
export function tokenShiftCost(op: TokenShiftOp, rows: number): Cost {
  return rowwiseCost(rows, 4 * op.x.width, 0);
}

import { fail } from '../base/errors.ts';
import type { AdapterChoice } from '../model/lora/adapter-set.ts';
import type { StepInputs } from './inputs/batch-inputs.ts';
import type { PlanSetup } from './parts/plan-setup.ts';

/** Consecutive rows of one sequence in a step. */
export interface SequenceRows {
  readonly ids: readonly number[];
  /** The id behind them, which the model's predictor reads. Default: the last one again. */
  readonly next?: number | undefined;
  readonly slot: number;
  /** The position of the first row. */
  readonly first: number;
  /** Number of rows, the last ones, whose logits are needed. */
  readonly outputs: number;
  readonly adapters: readonly AdapterChoice[];
  /** Embedding vectors by the ids that stand for them. */
  readonly vectors?: ReadonlyMap<number, Float32Array> | undefined;
}

/** Writes the small inputs of a step of a plan with this setup: the rows of one sequence after another. */
export function writeSequenceRows(
  input: StepInputs,
  sequences: readonly SequenceRows[],
  { adaptersARow = 0, context }: Pick<PlanSetup, 'adaptersARow' | 'context'>,
): void {
  input.vectors.clear();
  input.view('types').fill(0);
  input.clearSlotRows();
  let row = 0;
  let output = 0;
  for (const { ids, next, slot, first, outputs, adapters, vectors } of sequences) {
    // Rows behind the last sequence's, which a recorded step may have, count as its own.
    input.view('slots').fill(slot, row);
    input.view('causal_limits').fill(first + ids.length - 1, row);
    input.addSlotRows(slot, row, ids.length);
    for (const [at, id] of ids.entries()) {
      input.writeId(row + at, id, vectors?.get(id));
      input.view('positions')[row + at] = first + at;
      input.writeNext(row + at, ids[at + 1] ?? next ?? id, Math.min(first + at + 1, context - 1));
      input.writeAdapters(row + at, adaptersARow, adapters);
    }
    row += ids.length;
    for (let i = outputs; i > 0; i--) input.view('output_rows')[output++] = row - i;
  }
  input.view('counts').set([row, output]);
}

/** What rows of a plan's own sequence have to be within. */
interface RowBounds {
  /** Rows of a step. */
  readonly rows: number;
  readonly tokenIds: number;
  readonly context: number;
  /** Where the sequence ends, if there is one. */
  readonly end: number | undefined;
}

/** Throws `INVALID_ARGUMENT` for unknown ids, and for too many or non-consecutive rows. */
export function checkSequenceRows(
  ids: readonly number[],
  first: number,
  { rows, tokenIds, context, end }: RowBounds,
): void {
  if (ids.length === 0 || ids.length > rows) {
    fail('INVALID_ARGUMENT', { name: 'ids', found: `${ids.length} of them`, expected: `1 to ${rows} ids` });
  }
  const unknown = ids.find((id) => !Number.isInteger(id) || id < 0 || id >= tokenIds);
  if (unknown !== undefined) {
    fail('INVALID_ARGUMENT', { name: 'ids', found: String(unknown), expected: `ids below ${tokenIds}` });
  }
  if (first !== 0 && first !== end) {
    fail('INVALID_ARGUMENT', { name: 'first', found: String(first), expected: `0, or ${end ?? 0} to go on` });
  }
  if (first + ids.length > context) fail('INVALID_ARGUMENT', noRoom(first + ids.length, context));
}

/** Why rows up to a position cannot be computed. */
export function noRoom(end: number, context: number) {
  return { name: 'ids', found: `ids up to position ${end}`, expected: `at most ${context} positions` };
}

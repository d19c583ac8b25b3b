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
  let row = 0;
  let output = 0;
  for (const { ids, next, slot, first, outputs, adapters, vectors } of sequences) {
    // Rows behind the last sequence's, which a recorded step may have, count as its own.
    input.view('slots').fill(slot, row);
    input.view('causal_limits').fill(first + ids.length - 1, row);
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

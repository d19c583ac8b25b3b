import type { AdapterChoice } from '../model/lora/adapter-set.ts';
import type { StepInputs } from './inputs/batch-inputs.ts';
import type { PlanSetup } from './parts/plan-setup.ts';

/** Consecutive rows of one sequence that form a step by themselves. */
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

/** Writes the small inputs of a step of a plan with this setup. */
export function writeSequenceRows(
  input: StepInputs,
  { ids, next, slot, first, outputs, adapters, vectors }: SequenceRows,
  { adaptersARow = 0, context }: Pick<PlanSetup, 'adaptersARow' | 'context'>,
): void {
  input.view('counts').set([ids.length, outputs]);
  input.vectors.clear();
  input.view('slots').fill(slot);
  input.view('causal_limits').fill(first + ids.length - 1);
  input.view('types').fill(0);
  for (const [row, id] of ids.entries()) {
    input.writeId(row, id, vectors?.get(id));
    input.view('positions')[row] = first + row;
    input.writeNext(row, ids[row + 1] ?? next ?? id, Math.min(first + row + 1, context - 1));
    input.writeAdapters(row, adaptersARow, adapters);
  }
  for (let i = 0; i < outputs; i++) input.view('output_rows')[i] = ids.length - outputs + i;
}

import type { AdapterChoice } from '../model/lora/adapter-set.ts';
import type { StepInputs } from './inputs/batch-inputs.ts';

/** Consecutive rows of one sequence that form a step by themselves. */
export interface SequenceRows {
  readonly ids: readonly number[];
  readonly slot: number;
  /** The position of the first row. */
  readonly first: number;
  /** Number of rows, the last ones, whose logits are needed. */
  readonly outputs: number;
  readonly adapters: readonly AdapterChoice[];
  /** Embedding vectors by the ids that stand for them. */
  readonly vectors?: ReadonlyMap<number, Float32Array> | undefined;
}

/** Writes the small inputs of a step; `adaptersARow` is the value that the plan was compiled for. */
export function writeSequenceRows(
  input: StepInputs,
  { ids, slot, first, outputs, adapters, vectors }: SequenceRows,
  adaptersARow: number,
): void {
  input.view('counts').set([ids.length, outputs]);
  input.vectors.clear();
  input.view('slots').fill(slot);
  input.view('causal_limits').fill(first + ids.length - 1);
  input.view('types').fill(0);
  for (const [row, id] of ids.entries()) {
    input.writeId(row, id, vectors?.get(id));
    input.view('positions')[row] = first + row;
    input.writeAdapters(row, adaptersARow, adapters);
  }
  for (let i = 0; i < outputs; i++) input.view('output_rows')[i] = ids.length - outputs + i;
}

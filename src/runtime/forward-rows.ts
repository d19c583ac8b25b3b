import { invariant } from '../base/errors.ts';
import type { Stream } from '../device/index.ts';
import type { ExecutionPlan } from '../plan/execution-plan.ts';
import type { AdapterChoice } from '../model/lora/adapter-set.ts';
import type { SequenceState } from '../state/sequence-state.ts';

/** What rows are computed on. Nobody else may use it meanwhile. */
export interface ForwardOn {
  readonly plan: ExecutionPlan;
  readonly state: SequenceState;
  readonly stream: Stream;
}

/** Whose rows they are, and what is wanted of them. */
export interface ForwardRows {
  readonly slot: number;
  /** The position of the first row. */
  readonly first: number;
  /** Of how many rows, the last ones, logits are wanted. */
  readonly outputs: number;
  readonly adapters: readonly AdapterChoice[];
  /** Vectors in the place of ids' embeddings, by the ids that stand for them. */
  readonly vectors?: ReadonlyMap<number, Float32Array> | undefined;
  /** Looks at what a part of the model left before the next one runs, by its number in the order of running. */
  readonly behindPart?: ((part: number) => Promise<void>) | undefined;
}

/** Queues a step over `ids` of one sequence, alone, over what its slot holds of the positions before them. */
export async function forward(
  { plan, state, stream }: ForwardOn,
  ids: readonly number[],
  { slot, first, outputs, adapters, vectors, behindPart }: ForwardRows,
): Promise<void> {
  const end = first + ids.length;
  invariant(state.reserve(slot, first, end), 'a prompt within the context has room in the state');
  state.advance(slot, first, end);
  const batch = plan.planFor(ids.length, outputs);
  const input = batch.input(0);
  input.view('counts').set([ids.length, outputs]);
  input.vectors.clear();
  input.view('slots').fill(slot);
  input.view('causal_limits').fill(end - 1);
  input.view('types').fill(0);
  const { adaptersARow = 0 } = plan.parts;
  for (const [row, id] of ids.entries()) {
    input.writeId(row, id, vectors?.get(id));
    input.view('positions')[row] = first + row;
    input.writeAdapters(row, adaptersARow, adapters);
  }
  for (let i = 0; i < outputs; i++) input.view('output_rows')[i] = ids.length - outputs + i;
  plan.writeTables(state, slot);
  plan.copySlots(stream, state.takeCopies());
  await plan.run({ stream, batch, kind: 'forward', input, behindPart });
}

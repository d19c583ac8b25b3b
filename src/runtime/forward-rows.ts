import { invariant } from '../base/errors.ts';
import type { Stream } from '../device/index.ts';
import type { ExecutionPlan } from '../plan/execution-plan.ts';
import { type SequenceRows, writeSequenceRows } from '../plan/sequence-rows.ts';
import type { SequenceState } from '../state/sequence-state.ts';

/** What rows are computed on. Nobody else may use it meanwhile. */
export interface ForwardTarget {
  readonly plan: ExecutionPlan;
  readonly state: SequenceState;
  readonly stream: Stream;
}

/** Whose rows they are, and what is wanted of them. */
export interface ForwardRows extends Omit<SequenceRows, 'ids'> {
  /** Looks at what a part of the model left before the next one runs, by its number in the order of running. */
  readonly behindPart?: ((part: number) => Promise<void>) | undefined;
}

/** Queues a step over `ids` of one sequence, alone, over what its slot holds of the positions before them. */
export async function forward(
  { plan, state, stream }: ForwardTarget,
  ids: readonly number[],
  { slot, first, outputs, adapters, vectors, behindPart }: ForwardRows,
): Promise<void> {
  const end = first + ids.length;
  invariant(state.reserve(slot, first, end), 'a prompt within the context has room in the state');
  state.advance(slot, first, end);
  const batch = plan.planFor(ids.length, outputs);
  const input = batch.input(0);
  writeSequenceRows(input, { ids, slot, first, outputs, adapters, vectors }, plan.setup.adaptersARow ?? 0);
  plan.writeTables(state, slot);
  plan.copySlots(stream, state.takeCopies());
  await plan.run({ stream, batch, kind: 'forward', input, behindPart });
}

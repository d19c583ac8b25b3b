import { invariant } from '../base/errors.ts';
import type { Stream } from '../device/index.ts';
import type { ExecutionPlan } from '../plan/execution-plan.ts';
import { type SequenceRows, writeSequenceRows } from '../plan/sequence-rows.ts';
import type { SequenceState } from '../state/sequence-state.ts';

/** What rows are computed on. Nothing else may use it meanwhile. */
export interface ForwardTarget {
  readonly plan: ExecutionPlan;
  readonly state: SequenceState;
  readonly stream: Stream;
}

/** The rows of a sequence, and what is needed of them. */
export interface ForwardRows extends Omit<SequenceRows, 'ids'> {
  /** Called after each part of the model, with its index in execution order, before the next one runs. */
  readonly behindPart?: ((part: number) => Promise<void>) | undefined;
}

/** Queues a step with `ids` of a single sequence, on top of its slot's state for earlier positions. */
export async function forward(
  { plan, state, stream }: ForwardTarget,
  ids: readonly number[],
  { next, slot, first, outputs, adapters, vectors, behindPart }: ForwardRows,
): Promise<void> {
  const end = first + ids.length;
  invariant(state.reserve(slot, first, end), 'a prompt within the context has room in the state');
  state.advance(slot, first, end);
  const batch = plan.planFor(ids.length, outputs);
  const input = batch.input(0);
  writeSequenceRows(input, { ids, next, slot, first, outputs, adapters, vectors }, plan.setup);
  plan.writeTables(state, slot);
  plan.copySlots(stream, state.takeCopies());
  await plan.run({ stream, batch, kind: 'forward', input, behindPart });
}

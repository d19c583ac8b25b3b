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

/** Queues a step with rows of sequences, each on top of its slot's state for earlier positions. */
export async function forward(
  { plan, state, stream }: ForwardTarget,
  sequences: readonly SequenceRows[],
  /** Called after each part of the model, with its index in execution order, before the next one runs. */
  behindPart?: (part: number) => Promise<void>,
): Promise<void> {
  let rows = 0;
  let outputs = 0;
  for (const { ids, slot, first, outputs: own } of sequences) {
    const end = first + ids.length;
    invariant(state.reserve(slot, first, end), 'a prompt within the context has room in the state');
    state.advance(slot, first, end);
    rows += ids.length;
    outputs += own;
  }
  const batch = plan.planFor(rows, outputs);
  const input = batch.input(0);
  writeSequenceRows(input, sequences, plan.setup);
  for (const { slot } of sequences) plan.writeTables(state, slot);
  plan.states.copySlots(stream, state.takeCopies());
  await plan.run({ stream, batch, kind: 'forward', input, behindPart });
}

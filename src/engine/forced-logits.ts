import { invariant, throwIfAborted } from '../base/errors.ts';
import type { Stream } from '../device/index.ts';
import type { ExecutionPlan } from '../model/execution-plan.ts';
import type { AdapterChoice } from '../model/lora/adapter-set.ts';
import type { SequenceState } from '../model/sequence-state.ts';

/** The logits of one position, valid until the next one is asked for. */
export interface PositionLogits {
  readonly position: number;
  readonly logits: Float32Array;
}

/** What forced decoding may be told beside the ids. */
export interface EvaluateOptions {
  /** Gives up with `ABORTED`. */
  readonly signal?: AbortSignal | undefined;
  /** Adapters that all rows go through. */
  readonly adapters?: readonly AdapterChoice[] | undefined;
}

/** The tokens that are decoded, and the first position whose logits are wanted. */
export interface ForcedInput {
  readonly ids: readonly number[];
  readonly from: number;
  readonly signal: AbortSignal | undefined;
  readonly adapters?: readonly AdapterChoice[] | undefined;
}

/** The slot it uses; nobody else may use the state meanwhile. */
export const FORCED_SLOT = 0;

/** Yields the logits at every position from `from` on, given all tokens before it, in batches of as many as the plan takes. */
export async function* forcedLogits(
  on: { plan: ExecutionPlan; state: SequenceState; stream: Stream },
  { ids, from, signal, adapters = [] }: ForcedInput,
): AsyncGenerator<PositionLogits> {
  const { plan, stream } = on;
  const { rows, outputs } = plan.shape;
  const { vocabulary } = plan;
  const logits = new Float32Array(outputs * vocabulary);
  for (let at = 0; at < ids.length;) {
    throwIfAborted(signal, 'evaluation');
    const wanted = at >= from;
    const end = Math.min(ids.length, wanted ? at + Math.min(rows, outputs) : Math.min(at + rows, from));
    await forward(on, ids.slice(at, end), { first: at, outputs: wanted ? end - at : 0, adapters });
    if (wanted) {
      const bytes = new Uint8Array(logits.buffer, 0, (end - at) * vocabulary * 4);
      await stream.download(plan.result('logits'), bytes);
    } else {
      await stream.synchronize();
    }
    for (let i = 0; wanted && i < end - at; i++) {
      yield { position: at + i, logits: logits.subarray(i * vocabulary, (i + 1) * vocabulary) };
    }
    at = end;
  }
}

/** Queues a step over `ids` at positions from `first` on, with logits of the last `outputs` of them. */
async function forward(
  { plan, state, stream }: { plan: ExecutionPlan; state: SequenceState; stream: Stream },
  ids: readonly number[],
  { first, outputs, adapters }: { first: number; outputs: number; adapters: readonly AdapterChoice[] },
): Promise<void> {
  invariant(
    state.reserve(FORCED_SLOT, first + ids.length),
    'a prompt within the context fits into the cache',
  );
  const batch = plan.planFor(ids.length, outputs);
  const input = batch.input(0);
  input.view('counts').set([ids.length, outputs]);
  input.view('ids').set(ids);
  input.view('slots').fill(FORCED_SLOT);
  input.view('reach').fill(first + ids.length - 1);
  input.view('types').fill(0);
  const { adaptersARow = 0 } = plan.parts;
  for (let row = 0; row < ids.length; row++) input.writeAdapters(row, adaptersARow, adapters);
  for (let row = 0; row < ids.length; row++) input.view('positions')[row] = first + row;
  for (let i = 0; i < outputs; i++) input.view('output_rows')[i] = ids.length - outputs + i;
  state.writeBlocks(FORCED_SLOT, input.view('blocks'));
  await plan.run({ stream, batch, kind: 'forward', input });
}

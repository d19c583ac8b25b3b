import { throwIfAborted } from '../base/errors.ts';
import type { AdapterChoice } from '../model/lora/adapter-set.ts';
import { areValidLogits } from '../ops/index.ts';
import { explainFault } from './first-fault.ts';
import { type ForwardTarget, forward } from './forward-rows.ts';

/** The logits of one position, valid until the next one is requested. */
export interface PositionLogits {
  readonly position: number;
  readonly logits: Float32Array;
}

/** Options of forced decoding. */
export interface EvaluateOptions {
  /** Aborts with `ABORTED`. */
  readonly signal?: AbortSignal | undefined;
  /** Adapters for all rows; a function is asked once no adapters can come or go until it has ended. */
  readonly adapters?: readonly AdapterChoice[] | (() => readonly AdapterChoice[]) | undefined;
}

/** The tokens to decode, and the first position whose logits are needed. */
export interface ForcedInput {
  readonly ids: readonly number[];
  readonly from: number;
  readonly signal: AbortSignal | undefined;
  readonly adapters?: readonly AdapterChoice[] | undefined;
}

/** The slot it uses; nothing else may use the state meanwhile. */
export const FORCED_SLOT = 0;

/**
 * Yields the logits at every position from `from` on, given all tokens up to it, in batches of the plan's size; tells
 * `onStep` of each batch. Rejects
 * with `LOGITS_NOT_FINITE` at the first position with invalid logits.
 */
export async function* forcedLogits(
  on: ForwardTarget,
  { ids, from, signal, adapters = [] }: ForcedInput,
  onStep: () => void,
): AsyncGenerator<PositionLogits> {
  const { plan, stream } = on;
  const { rows, outputs } = plan.shape;
  const { vocabulary } = plan;
  const logits = new Float32Array(outputs * vocabulary);
  for (let at = 0; at < ids.length;) {
    throwIfAborted(signal, 'evaluation');
    const wanted = at >= from;
    const end = Math.min(ids.length, wanted ? at + Math.min(rows, outputs) : Math.min(at + rows, from));
    const own = { slot: FORCED_SLOT, first: at, adapters };
    onStep();
    await forward(on, [{ ...own, ids: ids.slice(at, end), next: ids[end], outputs: wanted ? end - at : 0 }]);
    if (wanted) {
      const bytes = new Uint8Array(logits.buffer, 0, (end - at) * vocabulary * 4);
      await stream.download(plan.result('logits'), bytes);
    } else {
      await stream.synchronize();
    }
    for (let i = 0; wanted && i < end - at; i++) {
      const found = logits.subarray(i * vocabulary, (i + 1) * vocabulary);
      if (!areValidLogits(found)) throw await explainFault(on, { ...own, ids: ids.slice(0, at + i + 1) });
      yield { position: at + i, logits: found };
    }
    at = end;
  }
}

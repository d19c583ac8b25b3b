import { asBytes } from '../base/bytes.ts';
import { RocmforgeError } from '../base/errors.ts';
import type { AdapterChoice } from '../model/lora/adapter-set.ts';
import { type ForwardOn, forward } from './forward-rows.ts';

/** Rows that were computed and led to logits that mean nothing. */
export interface FaultyRows {
  /** The sequence's ids up to the last of the rows. */
  readonly ids: readonly number[];
  /** The position of the first row. */
  readonly first: number;
  readonly slot: number;
  readonly adapters: readonly AdapterChoice[];
}

/**
 * Why a sequence cannot go on behind logits that are no numbers: computes its rows once more over what their slot holds, from
 * as far before them as its state can go back, part by part, and names the first part of the model that leaves something else
 * than numbers. Nobody else may use the plan meanwhile. Rejects as the device.
 */
export async function explainFault(on: ForwardOn, rows: FaultyRows): Promise<RocmforgeError> {
  const position = rows.ids.length - 1;
  const begin = on.state.resumable(rows.slot, rows.first);
  let part: string | undefined;
  for (let at = begin; at < rows.ids.length && part === undefined; at += on.plan.shape.rows) {
    part = await firstUnsoundPart(on, rows, at);
  }
  const where = part ?? 'nowhere when the step was repeated, so the device or its memory is at fault';
  return new RocmforgeError('LOGITS_NOT_FINITE', { position, where });
}

/** As many rows as a step takes, from `first` on. */
async function firstUnsoundPart(
  on: ForwardOn,
  { ids: all, slot, adapters }: FaultyRows,
  first: number,
): Promise<string | undefined> {
  const { plan, stream } = on;
  const ids = all.slice(first, first + plan.shape.rows);
  const batch = plan.planFor(ids.length, 1);
  let found: string | undefined;
  await forward(on, ids, {
    slot,
    adapters,
    first,
    outputs: 1,
    behindPart: async (part) => {
      const result = found === undefined ? batch.resultOf(part) : undefined;
      if (!result) return;
      const { tensor, range } = result;
      const values = new Float32Array((tensor.axis === 'outputs' ? 1 : ids.length) * tensor.width);
      await stream.download({ ...range, byteLength: values.byteLength }, asBytes(values));
      if (values.some((value) => !Number.isFinite(value))) found = batch.nameOf(part);
    },
  });
  await stream.synchronize();
  return found;
}

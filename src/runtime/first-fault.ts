import { asBytes } from '../base/bytes.ts';
import { RocmforgeError } from '../base/errors.ts';
import type { AdapterChoice } from '../model/lora/adapter-set.ts';
import { type ForwardTarget, forward } from './forward-rows.ts';

/** Rows whose logits are not finite. */
export interface NonFiniteRows {
  /** The sequence's ids up to the last of the rows. */
  readonly ids: readonly number[];
  /** The position of the first row. */
  readonly first: number;
  readonly slot: number;
  readonly adapters: readonly AdapterChoice[];
  readonly vectors?: ReadonlyMap<number, Float32Array> | undefined;
}

/**
 * Explains non-finite logits: recomputes the rows from as far back as the slot's state can be rolled back, part by
 * part, and names the first part of the model whose output is not finite. Nothing else may use the plan meanwhile.
 * Rejects as the device.
 */
export async function explainFault(on: ForwardTarget, rows: NonFiniteRows): Promise<RocmforgeError> {
  const position = rows.ids.length - 1;
  const begin = on.state.resumable(rows.slot, rows.first);
  let part: string | undefined;
  for (let at = begin; at < rows.ids.length && part === undefined; at += on.plan.shape.rows) {
    part = await firstUnsoundPart(on, rows, at);
  }
  const where = part ?? 'nowhere when the step was repeated, so the device or its memory is at fault';
  return new RocmforgeError('LOGITS_NOT_FINITE', { position, where });
}

/** Computes as many rows as a step takes, from `first` on. */
async function firstUnsoundPart(
  on: ForwardTarget,
  { ids: all, slot, adapters, vectors }: NonFiniteRows,
  first: number,
): Promise<string | undefined> {
  const { plan, stream } = on;
  const ids = all.slice(first, first + plan.shape.rows);
  const batch = plan.planFor(ids.length, 1);
  let found: string | undefined;
  await forward(on, [{ ids, slot, adapters, vectors, first, outputs: 1 }], async (part) => {
    const result = found === undefined ? batch.resultOf(part) : undefined;
    if (!result) return;
    const { tensor, range } = result;
    const values = new Float32Array((tensor.axis === 'outputs' ? 1 : ids.length) * tensor.width);
    await stream.download({ ...range, byteLength: values.byteLength }, asBytes(values));
    if (values.some((value) => !Number.isFinite(value))) found = batch.nameOf(part);
  });
  await stream.synchronize();
  return found;
}

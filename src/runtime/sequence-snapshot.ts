import { fail } from '../base/errors.ts';
import { alignUp } from '../base/bytes.ts';
import { BUFFER_ALIGNMENT, type BufferRange, type Stream } from '../device/index.ts';
import type { ExecutionPlan } from '../plan/execution-plan.ts';

/** The recurrent state after some ids: what a later text that begins with them need not compute again. */
export interface SequenceSnapshot {
  readonly ids: readonly number[];
  /** The contents of each of the layers' states, in the plan's order. */
  readonly states: readonly Uint8Array[];
}

/** Copies what the layers' states hold for a slot. Resolves when all that was queued before is done. */
export async function saveSlot(plan: ExecutionPlan, stream: Stream, slot: number): Promise<Uint8Array[]> {
  const rows = plan.slotRanges(slot);
  const saved: Uint8Array[] = [];
  for (const row of rows) {
    const { bytes, offset } = await read(stream, row);
    saved.push(bytes.slice(offset, offset + row.byteLength));
  }
  return saved;
}

/** True for states of which every value is a number: a text can go on from them. */
export function areFinite(states: readonly Uint8Array[]): boolean {
  return states.every(({ buffer, byteOffset, byteLength }) =>
    new Float32Array(buffer, byteOffset, byteLength / 4).every(Number.isFinite),
  );
}

/** Writes what was saved into the layers' states of a slot. Rejects with `INVALID_ARGUMENT` for another model's states. */
export async function restoreSlot(
  { plan, stream, slot }: { plan: ExecutionPlan; stream: Stream; slot: number },
  states: readonly Uint8Array[],
): Promise<void> {
  const rows = plan.slotRanges(slot);
  const fits = rows.length === states.length && rows.every((row, i) => row.byteLength === states[i]?.length);
  if (!fits) {
    const found = `${states.length} states of ${states[0]?.length ?? 0} bytes`;
    const expected = `${rows.length} of ${rows[0]?.byteLength ?? 0}`;
    fail('INVALID_ARGUMENT', { name: 'snapshot', found, expected });
  }
  for (const [i, row] of rows.entries()) {
    const { bytes, offset, around } = await read(stream, row);
    bytes.set(states[i] as Uint8Array, offset);
    stream.upload(bytes, around);
    await stream.synchronize();
  }
}

/** The row with what lies around it up to the bounds at which ranges begin and end. */
async function read(stream: Stream, { buffer, offset, byteLength }: BufferRange) {
  const begin = offset - (offset % BUFFER_ALIGNMENT);
  const end = Math.min(buffer.byteLength, alignUp(offset + byteLength, BUFFER_ALIGNMENT));
  const around = { buffer, offset: begin, byteLength: end - begin };
  const bytes = new Uint8Array(end - begin);
  await stream.download(around, bytes);
  return { bytes, offset: offset - begin, around };
}

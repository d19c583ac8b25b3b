import { fail } from '../base/errors.ts';
import { alignUp } from '../base/bytes.ts';
import { BUFFER_ALIGNMENT, type BufferRange, type Stream } from '../device/index.ts';
import type { ExecutionPlan } from '../plan/execution-plan.ts';
import type { SequenceState } from '../state/sequence-state.ts';

/** A model's state after some ids, so that a later text that begins with them need not recompute it. */
export interface SequenceSnapshot {
  readonly ids: readonly number[];
  /**
   * The contents of each layer's states, in the plan's order: per-slot values, or the blocks of its positions. They are
   * in shared memory where there is such, so that threads pass them on without a copy.
   */
  readonly states: readonly Uint8Array[];
  /** What the state depends on besides the ids: the adapters and their scales. Default: none. */
  readonly lineage?: string | undefined;
}

/** What a model's saved states look like. */
export interface StateShape {
  /** Identifies the model. */
  readonly fingerprint: string;
  /** The sizes in bytes of each layer's states, in the order of `SequenceSnapshot.states`. */
  readonly sizes: readonly number[];
}

/** The slot to copy. Nothing else may use the state meanwhile. */
export interface SlotTarget {
  readonly plan: ExecutionPlan;
  readonly state: SequenceState;
  readonly stream: Stream;
  readonly slot: number;
}

/** Copies the state of a slot's first `length` positions. Resolves when all work queued before is done. */
export async function saveSlot(
  { plan, state, stream, slot }: SlotTarget,
  length: number,
): Promise<Uint8Array[]> {
  const saved: Uint8Array[] = [];
  for (const ranges of plan.states.ranges(state, slot, length)) {
    const whole = sharedBytes(totalBytes(ranges));
    let at = 0;
    for (const range of ranges) {
      const { bytes, offset } = await read(stream, range);
      whole.set(bytes.subarray(offset, offset + range.byteLength), at);
      at += range.byteLength;
    }
    saved.push(whole);
  }
  return saved;
}

/** True if all per-slot values are finite, so that a text can continue from them. */
export function areFinite(plan: ExecutionPlan, states: readonly Uint8Array[]): boolean {
  return states.every(
    ({ buffer }, i) => !plan.states.isPerSlot(i) || new Float32Array(buffer).every(Number.isFinite),
  );
}

/**
 * Restores the saved state of a slot's first `length` positions, for which there is room. Rejects with
 * `INVALID_ARGUMENT` if it is another model's.
 */
export async function restoreSlot(
  { plan, state, stream, slot }: SlotTarget,
  states: readonly Uint8Array[],
  length: number,
): Promise<void> {
  const all = plan.states.ranges(state, slot, length);
  const fits = all.length === states.length && all.every((of, i) => totalBytes(of) === states[i]?.length);
  if (!fits) {
    const found = `${states.length} states of ${states[0]?.length ?? 0} bytes`;
    const expected = `${all.length} of ${totalBytes(all[0] ?? [])}`;
    fail('INVALID_ARGUMENT', { name: 'snapshot', found, expected });
  }
  for (const [i, ranges] of all.entries()) {
    const saved = states[i] as Uint8Array;
    let at = 0;
    for (const range of ranges) {
      const { bytes, offset, around } = await read(stream, range);
      bytes.set(saved.subarray(at, at + range.byteLength), offset);
      stream.upload(bytes, around);
      await stream.synchronize();
      at += range.byteLength;
    }
  }
}

/** The sizes in bytes of each layer's states after `length` positions, in the plan's order. */
export function snapshotSizes(plan: ExecutionPlan, state: SequenceState, length: number): number[] {
  return plan.states.ranges(state, 0, length).map(totalBytes);
}

/** Memory that is passed between threads without a copy, where there is such. */
export function sharedBytes(length: number): Uint8Array {
  const isShared = typeof SharedArrayBuffer === 'function';
  return isShared ? new Uint8Array(new SharedArrayBuffer(length)) : new Uint8Array(length);
}

function totalBytes(ranges: readonly BufferRange[]): number {
  return ranges.reduce((sum, { byteLength }) => sum + byteLength, 0);
}

/** Reads a range, extended to the device's alignment. */
async function read(stream: Stream, { buffer, offset, byteLength }: BufferRange) {
  const begin = offset - (offset % BUFFER_ALIGNMENT);
  const end = Math.min(buffer.byteLength, alignUp(offset + byteLength, BUFFER_ALIGNMENT));
  const around = { buffer, offset: begin, byteLength: end - begin };
  const bytes = new Uint8Array(end - begin);
  await stream.download(around, bytes);
  return { bytes, offset: offset - begin, around };
}

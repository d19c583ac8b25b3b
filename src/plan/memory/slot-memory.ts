import { BUFFER_ALIGNMENT, type BufferRange, type Device } from '../../device/index.ts';
import { fail } from '../../base/errors.ts';
import { isBlockType, stateBlockPlanes } from '../../ops/state-blocks.ts';
import { type State, stateBytes } from '../../ops/value.ts';
import type { StateSize } from '../../state/state-of.ts';

/** Throws `INVALID_ARGUMENT` on a group of devices: each has a part of every state. */
export function checkAlone({ group }: Device): void {
  if (!group) return;
  const found = `that of a model on ${group.ranks} devices`;
  fail('INVALID_ARGUMENT', { name: 'state', found, expected: 'that of a model on one device' });
}

/** Location of a slot's values in a state with a row per slot. */
export function slotRange(state: State, { buffer, offset }: BufferRange, slot: number): BufferRange {
  const byteLength = stateBytes(state) / state.rows;
  return { buffer, offset: offset + slot * byteLength, byteLength };
}

/** Locations of the cells of one of a cache's `blocks`: one range, or one for each plane. */
export function blockRanges(
  state: State,
  { buffer, offset }: BufferRange,
  { block, blocks }: { readonly block: number; readonly blocks: number },
): BufferRange[] {
  const part = (begin: number, rowBytes: number) => {
    const byteLength = (state.rows / blocks) * rowBytes;
    return { buffer, offset: offset + begin + block * byteLength, byteLength };
  };
  if (!isBlockType(state.type)) return [part(0, stateBytes(state) / state.rows)];
  const { quantBytes, scales, scaleBytes } = stateBlockPlanes(state.type, state.rows, state.width);
  return [part(0, quantBytes), part(scales, scaleBytes)];
}

/** The name of a state's checkpoint, which holds copies of slots' values. */
export function checkpointName(state: string): string {
  return `${state}, checkpoint`;
}

/** Throws `CHECKPOINT_UNALIGNED` if a slot's values cannot be copied separately from other slots'. */
export function checkCheckpoint(state: State, { checkpoints, slots }: StateSize): void {
  const bytes = stateBytes(state) / state.rows;
  if (!checkpoints || slots === 1 || bytes % BUFFER_ALIGNMENT === 0) return;
  fail('CHECKPOINT_UNALIGNED', { state: state.name, bytes, alignment: BUFFER_ALIGNMENT });
}

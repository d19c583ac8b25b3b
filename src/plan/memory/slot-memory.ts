import { BUFFER_ALIGNMENT, type BufferRange } from '../../device/index.ts';
import { fail } from '../../base/errors.ts';
import { KV_BLOCK_SIZE } from '../../model/state-groups.ts';
import { stateBlockPlanes } from '../../ops/state-blocks.ts';
import { type State, stateBytes } from '../../ops/value.ts';
import type { StateSize } from '../../state/state-of.ts';

/** Where a slot's values stand in a state that has a row for each slot. */
export function slotRange(state: State, { buffer, offset }: BufferRange, slot: number): BufferRange {
  const byteLength = stateBytes(state) / state.rows;
  return { buffer, offset: offset + slot * byteLength, byteLength };
}

/** Where the cells of a block stand in a cache: in one piece, or in one for each of its planes. */
export function blockRanges(state: State, { buffer, offset }: BufferRange, block: number): BufferRange[] {
  const part = (begin: number, rowBytes: number) => {
    const byteLength = KV_BLOCK_SIZE * rowBytes;
    return { buffer, offset: offset + begin + block * byteLength, byteLength };
  };
  if (state.type !== 'q8_0') return [part(0, stateBytes(state) / state.rows)];
  const { scales, scaleBytes } = stateBlockPlanes(state.rows, state.width);
  return [part(0, state.width), part(scales, scaleBytes)];
}

/** What the checkpoint of a state is called, whose slots' values are copied there. */
export function checkpointName(state: string): string {
  return `${state}, checkpoint`;
}

/** Throws `CHECKPOINT_UNALIGNED` where a slot's values cannot be copied apart from other slots'. */
export function checkCheckpoint(state: State, { checkpoints, slots }: StateSize): void {
  const bytes = stateBytes(state) / state.rows;
  if (!checkpoints || slots === 1 || bytes % BUFFER_ALIGNMENT === 0) return;
  fail('CHECKPOINT_UNALIGNED', { state: state.name, bytes, alignment: BUFFER_ALIGNMENT });
}

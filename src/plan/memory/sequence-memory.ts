import type { BufferRange, Stream } from '../../device/index.ts';
import { stateName } from '../../model/model-graphs.ts';
import type { SequenceState } from '../../state/sequence-state.ts';
import type { SlotCopy } from '../../state/slot-group.ts';
import type { PartPlan } from '../parts/part-plan.ts';
import type { PlanSetup } from '../parts/plan-setup.ts';
import type { PlanBuffers } from './plan-buffers.ts';
import { blockRanges, checkAlone, checkpointName, slotRange } from './slot-memory.ts';

/** Where the states of a plan's sequences are, layer by layer. */
export class SequenceMemory {
  readonly #setup: Pick<PlanSetup, 'device' | 'state'>;
  readonly #parts: readonly PartPlan[];
  readonly #buffers: PlanBuffers;

  constructor(setup: Pick<PlanSetup, 'device' | 'state'>, parts: readonly PartPlan[], buffers: PlanBuffers) {
    this.#setup = setup;
    this.#parts = parts;
    this.#buffers = buffers;
  }

  /**
   * Locations of a slot's state for its first `length` positions: one list per state, layer by layer. Throws as `checkAlone`.
   */
  ranges(state: SequenceState, slot: number, length: number): BufferRange[][] {
    checkAlone(this.#setup.device);
    return this.#states().map(({ group, state: of, range }) => {
      const [allocator, sized] = [state.groups[group], this.#setup.state.groups[group]];
      if (!allocator?.table) return [slotRange(of, range, slot)];
      const { table } = allocator;
      const { begin, end } = allocator.needed(length);
      const held = Array.from({ length: end - begin }, (_, i) => table.get(slot, begin + i));
      return held.flatMap((block) => blockRanges(of, range, { block, blocks: sized?.blocks ?? 1 }));
    });
  }

  /** Whether a state, given by its index in `ranges`, has one value per slot. */
  isPerSlot(place: number): boolean {
    return this.#states()[place]?.isPerSlot ?? false;
  }

  /** Queues copies of slots' values into their checkpoints and back, before the step that needs them. */
  copySlots(stream: Stream, copies: readonly SlotCopy[]): void {
    if (copies.length === 0) return;
    const states = this.#states().filter(({ isPerSlot }) => isPerSlot);
    for (const { slot, does } of copies) {
      for (const { state, range, name } of states) {
        const values = slotRange(state, range, slot);
        const saved = slotRange(state, this.#buffers.get(checkpointName(name)), slot);
        if (does === 'save') stream.copy(values, saved);
        else stream.copy(saved, values);
      }
    }
  }

  /** The states, layer by layer, and their locations. */
  #states() {
    const { groups } = this.#setup.state;
    return this.#parts.flatMap(({ part }) =>
      (part.grouped ?? []).map(({ state, group }) => {
        const name = stateName(part, state);
        const range = this.#buffers.get(name);
        return { state, group, name, range, isPerSlot: groups[group]?.kind === 'slots' };
      }),
    );
  }
}

import type { SizedGroup } from '../model/state-groups.ts';
import { PagedGroup } from './paged-group.ts';
import { SequenceState } from './sequence-state.ts';
import { SlotGroup } from './slot-group.ts';
import type { GroupAllocator } from './group-allocator.ts';
import { WindowedGroup } from './windowed-group.ts';

/** What a model's sequences leave behind, and how many of them there are at once. */
export interface StateSize {
  readonly groups: readonly SizedGroup[];
  readonly slots: number;
  /** Positions that a sequence may have. */
  readonly context: number;
  /** Whether values that slots have once can be taken back, to what they were before a step. */
  readonly checkpoints: boolean;
}

/** The allocators of a state of this size. */
export function stateOf(size: StateSize): SequenceState {
  return new SequenceState(
    size.groups.map((group) => allocatorOf(group, size)),
    size.context,
  );
}

function allocatorOf(group: SizedGroup, { slots, context, checkpoints }: StateSize): GroupAllocator {
  const { blocks } = group;
  switch (group.kind) {
    case 'paged':
      return new PagedGroup({ blocks, slots, context });
    case 'windowed':
      return new WindowedGroup({ blocks, slots, context, window: group.window });
    case 'slots':
      return new SlotGroup({ slots, context, checkpoints });
  }
}

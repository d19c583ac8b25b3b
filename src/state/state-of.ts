import type { SizedGroup } from '../model/state-groups.ts';
import { PagedGroup } from './paged-group.ts';
import { SequenceState } from './sequence-state.ts';
import { SlotGroup } from './slot-group.ts';
import type { GroupAllocator } from './group-allocator.ts';
import { WindowedGroup } from './windowed-group.ts';

/** The size of a model's sequence state. */
export interface StateSize {
  readonly groups: readonly SizedGroup[];
  readonly slots: number;
  /** Maximum positions of a sequence. */
  readonly context: number;
  /** Whether per-slot values can be rolled back to what they were before a step. */
  readonly checkpoints: boolean;
}

/** Creates the state of this size with its groups. */
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

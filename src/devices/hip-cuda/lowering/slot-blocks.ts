import type { BatchTensors, Tensor } from '../../../ops/index.ts';
import type { Operand } from './launch-plan.ts';
import type { Lowering } from './lowering.ts';

/** How the blocks of a recurrence find the rows of their slots: `slot-rows.h`. */
export interface SlotBlocks {
  /** Blocks of a column of the grid. */
  readonly count: number;
  readonly defines: { readonly BY_ROW: 0 | 1 };
  /** The first arguments of the kernel. */
  readonly args: readonly Operand[];
}

/** A block for each slot, or for each row where a step has fewer rows than there are slots. */
export function slotBlocks(
  {
    batch,
    out,
  }: { readonly batch: Pick<BatchTensors, 'slots' | 'slotRows' | 'positions'>; readonly out: Tensor },
  to: Lowering,
): SlotBlocks {
  const { slots } = to.graph.shape;
  const rows = to.capacity(out);
  return {
    count: Math.min(rows, slots),
    defines: { BY_ROW: rows < slots ? 1 : 0 },
    args: [to.count(out), batch.slots, batch.slotRows, batch.positions],
  };
}

import type { BatchTensors, Tensor } from '../../../ops/index.ts';
import type { Constant } from '../launching/kernel-module.ts';
import type { Argument } from './launch-plan.ts';
import type { Lowering } from './lowering.ts';

/** How the workgroups of a recurrence find the rows of their slots: `SLOT_ROWS`. */
export interface SlotWorkgroups {
  /** Workgroups of a column of the grid. */
  readonly count: number;
  readonly constants: Readonly<Record<'BY_ROW', Constant>>;
  readonly args: Readonly<Record<string, Argument>>;
}

/** A workgroup for each slot, or for each row where a step has fewer rows than there are slots. */
export function slotWorkgroups(
  {
    batch,
    out,
  }: { readonly batch: Pick<BatchTensors, 'slots' | 'slotRows' | 'positions'>; readonly out: Tensor },
  to: Lowering,
): SlotWorkgroups {
  const { slots } = to.graph.shape;
  const rows = to.capacity(out);
  return {
    count: Math.min(rows, slots),
    constants: { BY_ROW: rows < slots },
    args: {
      counts: to.counts,
      slots: to.index(batch.slots),
      slot_rows: to.index(batch.slotRows),
      positions: to.index(batch.positions),
    },
  };
}

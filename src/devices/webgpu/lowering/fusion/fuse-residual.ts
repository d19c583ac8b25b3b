import { type Fusion, type GraphUses, matchResidual } from '../../../../device/index.ts';
import type { Op } from '../../../../ops/index.ts';
import { read } from '../launch-plan.ts';
import type { Lowering } from '../lowering.ts';
import { launchMatmul } from '../matmul.ts';

/** A product and the addition of another tensor to it. */
export function fuseResidual(op: Op, uses: GraphUses, to: Lowering): Fusion | undefined {
  const found = op.kind === 'matmul' ? matchResidual(op, uses) : undefined;
  // A kernel binds a buffer's part once where it also writes another part of it.
  if (op.kind !== 'matmul' || !found || found.addend === op.x) return undefined;
  const { sum, addend } = found;
  return {
    ops: [op, sum],
    emit: () => launchMatmul(op, to, { addend: read(addend), kind: 'residual', y: sum.out }),
  };
}

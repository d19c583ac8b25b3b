import { type Fuse, matchResidual } from '../../../../device/index.ts';
import type { Activations } from '../activations.ts';
import { type Lowering, read } from '../lowering.ts';
import { launchMatmul } from '../matmul.ts';

/** A product and the addition of another tensor to it. */
export function fuseResidual(to: Lowering, activations: Activations): Fuse {
  return (op, uses) => {
    const found = op.kind === 'matmul' ? matchResidual(op, uses) : undefined;
    // A kernel binds a buffer's part once where it also writes another part of it.
    if (op.kind !== 'matmul' || !found || found.addend === op.x) return undefined;
    const { sum, addend } = found;
    return {
      ops: [op, sum],
      emit: () => launchMatmul(op, to, { activations, addend: read(addend), kind: 'residual', y: sum.out }),
    };
  };
}

import type { Fuse } from '../../../../device/index.ts';
import type { Activations } from '../activations.ts';
import type { Lowering } from '../lowering.ts';
import { formRead } from './form-read.ts';

/** A norm of whole rows that only such products read as norm for themselves, or one launch norms and converts for. */
export function fuseNorm(to: Lowering, activations: Activations): Fuse {
  return (op, uses) => {
    if (op.kind !== 'rmsNorm' || op.weight.columns !== op.x.width) return undefined;
    if (formRead(op.out, uses, to) === 'floats') return undefined;
    return { ops: [op], emit: () => activations.absorb(op) };
  };
}

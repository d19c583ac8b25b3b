import type { Fuse } from '../../../../device/index.ts';
import type { Activations } from '../activations.ts';
import type { Lowering } from '../lowering.ts';
import { isInteger, isMatvec } from '../matvec-shape.ts';

/** A norm of whole rows that only integer products read: they norm for themselves, or one launch norms and quantizes. */
export function fuseNorm(to: Lowering, activations: Activations): Fuse {
  return (op, uses) => {
    if (op.kind !== 'rmsNorm' || op.weight.columns !== op.x.width) return undefined;
    const readers = uses.readers(op.out);
    const absorbed = readers.every(
      (reader) => reader.kind === 'matmul' && isInteger(reader) && isMatvec(reader, to),
    );
    if (readers.length === 0 || !absorbed) return undefined;
    return { ops: [op], emit: () => activations.absorb(op) };
  };
}

import type { Fusion, GraphUses } from '../../../../device/index.ts';
import type { Op } from '../../../../ops/index.ts';
import type { Lowering } from '../lowering.ts';
import { isInteger } from '../matvec-shape.ts';

/** A norm of whole rows that only integer products read: they norm for themselves, or one launch norms and quantizes. */
export function fuseNorm(op: Op, uses: GraphUses, to: Lowering): Fusion | undefined {
  if (op.kind !== 'rmsNorm' || op.weight.columns !== op.x.width) return undefined;
  const readers = uses.readers(op.out);
  const absorbed =
    readers.length > 0 && readers.every((reader) => reader.kind === 'matmul' && isInteger(reader));
  return absorbed ? { ops: [op], emit: () => to.activations.absorb(op) } : undefined;
}

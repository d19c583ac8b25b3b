import type { Fusion, GraphUses } from '../../../../device/index.ts';
import type { Op } from '../../../../ops/index.ts';
import type { Lowering } from '../lowering.ts';
import { formRead } from './form-read.ts';

/** A norm of whole rows that only such products read as norm for themselves, or one launch norms and converts for. */
export function fuseNorm(op: Op, uses: GraphUses, to: Lowering): Fusion | undefined {
  if (op.kind !== 'rmsNorm' || op.weight.columns !== op.x.width) return undefined;
  if (formRead(op.out, uses, to) === 'floats') return undefined;
  return { ops: [op], emit: () => to.activations.absorb(op) };
}

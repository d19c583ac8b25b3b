import type { Tensor } from '../../../../ops/index.ts';
import type { ActivationForm } from '../attention.ts';
import type { Lowering } from '../lowering.ts';
import { isInteger, MATVEC_ROWS } from '../matvec-shape.ts';
import type { GraphUses } from './graph-uses.ts';

/** The form in which a result is best left: as products want it, where only products of packed weights read it. */
export function formFor(tensor: Tensor, uses: GraphUses, to: Lowering): ActivationForm {
  const readers = uses.readers(tensor);
  const products = readers.every((reader) => reader.kind === 'matmul' && isInteger(reader));
  if (readers.length === 0 || !products || tensor.width % 32 !== 0) return 'floats';
  return to.capacity(tensor) > MATVEC_ROWS ? 'halves' : 'quantized';
}

import type { GraphUses } from '../../../../device/index.ts';
import type { Tensor } from '../../../../ops/index.ts';
import type { ActivationForm } from '../attention.ts';
import type { Lowering } from '../lowering.ts';
import { HALVES_CHUNK, isInteger, MATVEC_ROWS } from '../matvec-shape.ts';

/** The form in which a result is best left: as products want it, where only products of packed weights read it. */
export function formFor(tensor: Tensor, uses: GraphUses, to: Lowering): ActivationForm {
  const readers = uses.readers(tensor);
  const products = readers.every((reader) => reader.kind === 'matmul' && isInteger(reader));
  if (readers.length === 0 || !products || tensor.width % 32 !== 0) return 'floats';
  if (to.capacity(tensor) <= MATVEC_ROWS) return 'quantized';
  // Only launches of their own fill rows up.
  return tensor.width % HALVES_CHUNK === 0 ? 'halves' : 'floats';
}

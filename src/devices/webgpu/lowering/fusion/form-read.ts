import type { GraphUses } from '../../../../device/index.ts';
import type { MatmulOp, Op, Tensor } from '../../../../ops/index.ts';
import type { Lowering } from '../lowering.ts';
import { takesHalves } from '../matrix-product.ts';
import { OUTPUTS_A_GROUP } from '../matvec.ts';
import { takesQuantized } from '../matvec-shape.ts';

/** The form in which everything that reads a result takes it: quantized or halves where only such products do. */
export function formRead(tensor: Tensor, uses: GraphUses, to: Lowering): 'floats' | 'quantized' | 'halves' {
  const readers = uses.readers(tensor);
  if (readers.length === 0 || tensor.width % OUTPUTS_A_GROUP !== 0) return 'floats';
  const all = (takes: (op: MatmulOp) => boolean) =>
    readers.every((reader: Op) => reader.kind === 'matmul' && takes(reader));
  if (all((op) => takesQuantized(op, to))) return 'quantized';
  return all((op) => takesHalves(op, to)) ? 'halves' : 'floats';
}

import type { BinaryOp, MatmulOp, Tensor } from '../../ops/index.ts';
import type { GraphUses } from './graph-uses.ts';

/** The addition of another tensor to a product that nobody else reads. */
export function matchResidual(
  op: MatmulOp,
  uses: GraphUses,
): { readonly sum: BinaryOp; readonly addend: Tensor } | undefined {
  if (op.bias) return undefined;
  const sum = uses.onlyReader(op.out);
  if (sum?.kind !== 'add' || sum.b.kind !== 'tensor' || sum.a === sum.b) return undefined;
  return { sum, addend: sum.a === op.out ? sum.b : sum.a };
}

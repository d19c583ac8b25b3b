import type { BinaryOp, CombineExpertsOp, MatmulOp, Tensor } from '../../ops/index.ts';
import type { GraphUses } from '../gpu/graph-uses.ts';

/** An addition, and what is added to the result before it. */
export interface Residual {
  readonly sum: BinaryOp;
  readonly addend: Tensor;
}

/** The addition of another tensor to a product, or to the sum of experts' products, that nobody else reads. */
export function matchResidual(op: MatmulOp | CombineExpertsOp, uses: GraphUses): Residual | undefined {
  if (op.kind === 'matmul' && op.bias) return undefined;
  const sum = uses.onlyReader(op.out);
  if (sum?.kind !== 'add' || sum.b.kind !== 'tensor' || sum.a === sum.b) return undefined;
  return { sum, addend: sum.a === op.out ? sum.b : sum.a };
}

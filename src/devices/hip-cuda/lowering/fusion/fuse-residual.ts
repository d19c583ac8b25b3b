import { type Fusion, type GraphUses, matchResidual } from '../../../../device/index.ts';
import type { MatmulOp, Op, Tensor } from '../../../../ops/index.ts';
import type { Lowering } from '../lowering.ts';
import { launchMatvec } from '../matvec.ts';
import { isInteger, isMatvec } from '../matvec-shape.ts';
import { launchProduct } from '../product.ts';

/** A product and the addition of another tensor to it. */
export function fuseResidual(op: Op, uses: GraphUses, to: Lowering): Fusion | undefined {
  const found = op.kind === 'matmul' && isInteger(op) ? matchResidual(op, uses) : undefined;
  if (op.kind !== 'matmul' || !found) return undefined;
  const { sum, addend } = found;
  return { ops: [op, sum], emit: () => launchResidual(to, op, addend, sum.out) };
}

function launchResidual(to: Lowering, op: MatmulOp, addend: Tensor, y: Tensor): void {
  const { x, weight } = op;
  const of = { x, weights: [weight], outputs: weight.rows, output: 'residual', y, addend } as const;
  if (isMatvec(op, to)) launchMatvec(to, of);
  else launchProduct(to, of);
}

import type { MatmulOp, Op, Tensor } from '../../../../ops/index.ts';
import type { Lowering } from '../lowering.ts';
import { launchMatvec } from '../matvec.ts';
import { isInteger, isMatvec } from '../matvec-shape.ts';
import { launchProduct } from '../product.ts';
import type { Fusion } from './fusion.ts';
import type { GraphUses } from './graph-uses.ts';

/** A product and the addition of another tensor to it. */
export function fuseResidual(op: Op, uses: GraphUses): Fusion | undefined {
  if (op.kind !== 'matmul' || op.bias || !isInteger(op)) return undefined;
  const sum = uses.onlyReader(op.out);
  if (sum?.kind !== 'add' || sum.b.kind !== 'tensor' || sum.a === sum.b) return undefined;
  const addend: Tensor = sum.a === op.out ? sum.b : sum.a;
  return { ops: [op, sum], emit: (to) => launchResidual(to, op, addend, sum.out) };
}

function launchResidual(to: Lowering, op: MatmulOp, addend: Tensor, y: Tensor): void {
  const { x, weight } = op;
  const of = { x, weights: [weight], outputs: weight.rows, output: 'residual', y, addend } as const;
  if (isMatvec(op, to)) launchMatvec(to, of);
  else launchProduct(to, of);
}

import type { MatmulOp } from '../../../ops/index.ts';
import { type Argument, type Operand, write } from './launch-plan.ts';
import type { Lowering } from './lowering.ts';
import { finishFloats, launchMatvec } from './matvec.ts';
import { isMatvec } from './matvec-shape.ts';
import { launchProduct } from './product.ts';
import { FLOAT_LAYOUT } from './weight-layout.ts';

export function lowerMatmul(op: MatmulOp, to: Lowering): void {
  const addend = op.bias && to.vector(op.bias, FLOAT_LAYOUT);
  launchMatmul(op, to, { addend, kind: op.bias ? 'bias' : 'none', y: op.out });
}

/** A product whose sums are stored, with a bias or another tensor added to them. */
export function launchMatmul(
  op: MatmulOp,
  to: Lowering,
  of: {
    addend: Argument | undefined;
    kind: 'none' | 'bias' | 'residual';
    y: Operand;
  },
): void {
  const { x, weight } = op;
  const { addend, kind, y } = of;
  if (!isMatvec(op, to)) {
    launchProduct(to, { x, weights: [weight], y, addend, kind });
    return;
  }
  launchMatvec(to, {
    name: 'matvec',
    x,
    weights: [weight],
    parts: 1,
    whole: false,
    finish: finishFloats({ y: write(y), width: weight.rows, addend, kind }),
  });
}

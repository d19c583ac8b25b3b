import type { MatmulOp } from '../../../ops/index.ts';
import type { Activations } from './activations.ts';
import { type Argument, type Lowering, type Operand, write } from './lowering.ts';
import { finishFloats, launchMatvec } from './matvec.ts';
import { isMatvec } from './matvec-shape.ts';
import { launchProduct } from './product.ts';
import { FLOAT_LAYOUT } from './weight-layout.ts';

export function lowerMatmul(op: MatmulOp, to: Lowering, activations: Activations): void {
  const addend = op.bias && to.vector(op.bias, FLOAT_LAYOUT);
  launchMatmul(op, to, { activations, addend, kind: op.bias ? 'bias' : 'none', y: op.out });
}

/** A product whose sums are stored, with a bias or another tensor added to them. */
export function launchMatmul(
  op: MatmulOp,
  to: Lowering,
  of: {
    activations: Activations;
    addend: Argument | undefined;
    kind: 'none' | 'bias' | 'residual';
    y: Operand;
  },
): void {
  const { x, weight } = op;
  const { addend, kind, y } = of;
  if (!isMatvec(op, to)) {
    launchProduct(to, of.activations, { x, weights: [weight], y, addend, kind });
    return;
  }
  launchMatvec(to, of.activations, {
    name: 'matvec',
    x,
    weights: [weight],
    parts: 1,
    whole: false,
    finish: finishFloats({ y: write(y), width: weight.rows, addend, kind }),
  });
}

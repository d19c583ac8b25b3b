import type { MatmulOp } from '../../../ops/index.ts';
import type { Operand } from './launch-plan.ts';
import { int, NULL } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { launchMatvec } from './matvec.ts';
import { isMatvec, isProduct, rowBucket } from './matvec-shape.ts';
import { launchProduct } from './product.ts';
import { isSplitProduct, launchSplitProduct } from './split-product.ts';
import { FILE_LAYOUT, FLOAT_LAYOUT, fileFormat } from './weight-layout.ts';

export function lowerMatmul(op: MatmulOp, to: Lowering): void {
  const { x, weight, bias, out } = op;
  const addend = bias ? to.weight([bias], FLOAT_LAYOUT) : NULL;
  if (isMatvec(op, to)) {
    launchMatvec(to, { x, weights: [weight], outputs: weight.rows, output: 'floats', y: out, addend });
  } else if (isProduct(op, to)) {
    launchProduct(to, { x, weights: [weight], outputs: weight.rows, output: 'floats', y: out, addend });
  } else if (isSplitProduct(op, to)) launchSplitProduct(op, to);
  else lowerDense(op, addend, to);
}

/** A product whose weights are decoded to f32 as they are read. */
function lowerDense({ x, weight, out }: MatmulOp, bias: Operand, to: Lowering): void {
  const capacity = to.capacity(x);
  const rows = rowBucket(capacity);
  to.launch({
    file: 'dense-product.hip',
    kernel: 'dense_product',
    defines: { FILE_FORMAT: fileFormat(weight), ROWS: rows },
    grid: [Math.ceil(weight.rows / 4), Math.ceil(capacity / rows)],
    block: 128,
    args: [
      to.count(x),
      x,
      to.weight([weight], FILE_LAYOUT),
      bias,
      out,
      int(weight.columns),
      int(weight.rows),
    ],
  });
}

import type { MatmulOp } from '../../../ops/index.ts';
import { WORKSPACE_BYTES } from './blas-product.ts';
import { int, NULL } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { MATVEC_ROWS } from './matvec-shape.ts';
import { FILE_LAYOUT, FLOAT_LAYOUT } from './weight-layout.ts';

const THREADS = 256;
/** Elements that the library wants rows to be multiples of. */
const ROW_UNIT = 8;

/** True for products of many rows by half-float weights, where the driver's BLAS library is there. */
export function isSplitProduct({ x, weight }: MatmulOp, to: Lowering): boolean {
  const whole = weight.columns % ROW_UNIT === 0 && weight.rows % ROW_UNIT === 0;
  return to.target.blas && weight.format.name === 'F16' && whole && to.capacity(x) > MATVEC_ROWS;
}

/** The activations as two matrices of halves, each multiplied on the library by the weights as the file holds them. */
export function launchSplitProduct({ x, weight, bias, out }: MatmulOp, to: Lowering): void {
  const capacity = to.capacity(x);
  const { high, low, scales } = to.activations.split(x);
  const sums = [high, low].map((halves) => {
    const product = to.temporary(4 * capacity * weight.rows);
    to.multiply({
      shape: {
        rows: capacity,
        outputs: weight.rows,
        columns: weight.columns,
        workspaceBytes: WORKSPACE_BYTES,
      },
      factor: 1,
      args: [halves, to.weight([weight], FILE_LAYOUT), product, to.temporary(WORKSPACE_BYTES)],
    });
    return product;
  });
  to.launch({
    file: 'split-halves.hip',
    kernel: 'join_products',
    grid: [Math.ceil(weight.rows / THREADS), capacity],
    block: THREADS,
    args: [
      to.count(x),
      ...sums,
      scales,
      bias ? to.weight([bias], FLOAT_LAYOUT) : NULL,
      out,
      int(weight.rows),
    ],
  });
}

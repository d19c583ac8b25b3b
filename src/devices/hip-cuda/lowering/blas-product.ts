import type { Weight } from '../../../ops/index.ts';
import type { Operand } from './launch-plan.ts';
import { int, long, NULL } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { HALVES_CHUNK } from './matvec-shape.ts';
import { packedFile, weightScale } from './packed-formats.ts';
import { PRODUCT_OUTPUT, type Product } from './product-plan.ts';
import { GROUP_LAYOUT } from './weight-layout.ts';

/** From here on, decoding the weights for the library costs less than it saves. */
const LEAST_ROWS = 256;
/** What the library's kernels for Hopper want at most. */
export const WORKSPACE_BYTES = 32 << 20;
const THREADS = 256;

/** True where the driver's BLAS library is there and the product is large enough for it. */
export function isBlasProduct(to: Lowering, { x, weights, outputs }: Product): boolean {
  const whole = weights.every(({ columns }) => columns % HALVES_CHUNK === 0);
  return to.target.blas && whole && outputs % 4 === 0 && to.capacity(x) >= LEAST_ROWS;
}

/** Decodes the weights to halves, multiplies on the library, and finishes its sums, which come for rows without use as well. */
export function launchBlasProduct(to: Lowering, of: Product): void {
  const [first] = of.weights as [Weight];
  const capacity = to.capacity(of.x);
  const width = of.weights.reduce((sum, { rows }) => sum + rows, 0);
  const halves = to.temporary(2 * width * first.columns);
  const groups = (width * first.columns) / 32;
  const x = to.activations.halves(of.x);
  to.launch({
    file: 'decode-halves.hip',
    kernel: 'decode_halves',
    defines: { PACKED_FORMAT: packedFile(first.format) },
    grid: [Math.ceil((4 * groups) / THREADS)],
    block: THREADS,
    args: [to.weight(of.weights, GROUP_LAYOUT), long(groups), halves],
  });
  // Scratch may hold rows without use; what is bound from outside may not.
  const plain = of.output === 'floats' && (of.addend ?? NULL) === NULL && isScratch(of.y);
  const sums = plain ? of.y : to.temporary(4 * capacity * width);
  to.multiply({
    shape: { rows: capacity, outputs: width, columns: first.columns, workspaceBytes: WORKSPACE_BYTES },
    factor: 1 / weightScale(first.format),
    args: [x, halves, sums, to.temporary(WORKSPACE_BYTES)],
  });
  if (plain) return;
  to.launch({
    file: 'finish-product.hip',
    kernel: 'finish_product',
    defines: { OUTPUT: PRODUCT_OUTPUT[of.output], ACTIVATION: of.activation ?? 0 },
    grid: [Math.ceil(of.outputs / 4 / THREADS), capacity],
    block: THREADS,
    args: [to.count(of.x), sums, int(of.outputs), of.addend ?? NULL, of.y],
  });
}

function isScratch(operand: Operand): boolean {
  return 'kind' in operand && operand.kind === 'temporary';
}

import { invariant } from '../../../base/errors.ts';
import type { ProductIntent } from '../../../device/index.ts';
import type { Tensor, Weight } from '../../../ops/index.ts';
import { addendOf, outputsOf, productDefines } from './epilogue.ts';
import type { Operand } from './launch-plan.ts';
import { int, NULL } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { GROUP_LAYOUT } from './weight-layout.ts';

const THREADS = 256;
/** Elements of a packed group. */
const GROUP = 32;
/** Outputs of a thread. */
const FINISHED = 4;

/** A product whose sums are in memory, in pieces that are added up. */
interface UnfinishedProduct {
  readonly rows: Tensor;
  readonly weights: readonly Weight[];
  readonly epilogue: ProductIntent['epilogue'];
  readonly sums: Operand;
  /** Of the sums; gates' and ups' alone may be f16, the range of which infinite ones leave. */
  readonly type: 'f32' | 'f16';
  readonly pieces: number;
}

/** Launches the epilogue of a product. */
export function finishProduct(
  { rows, weights, epilogue, sums, type, pieces }: UnfinishedProduct,
  to: Lowering,
): void {
  const capacity = to.capacity(rows);
  const outputs = outputsOf(weights, epilogue);
  to.launch({
    file: 'finish-product.hip',
    kernel: 'finish_product',
    defines: { PIECES: pieces, HALVES: type === 'f16' ? 1 : 0, ...productDefines(epilogue) },
    grid: [Math.ceil(outputs / FINISHED / THREADS), capacity],
    block: THREADS,
    args: [to.count(rows), sums, int(outputs), int(capacity * outputs), addendOf(epilogue, to), epilogue.y],
  });
}

/** What a product's blocks write: results, or sums of a part of k each, of which what follows `finish` makes results. */
interface ProductSums {
  readonly defines: Readonly<Record<string, number>>;
  /** The last arguments of the kernels: what is added, where to write, and how many numbers a part's sums are behind the other's. */
  readonly args: readonly Operand[];
  finish(): void;
}

/** The arguments of the kernels that multiply by packed weights on matrix cores, whose last ones are those of the sums. */
export function packedProductArgs(
  { rows, x, weights, epilogue }: ProductIntent,
  sums: ProductSums,
  to: Lowering,
): readonly Operand[] {
  const [{ columns }] = weights as [Weight];
  const sizes = [outputsOf(weights, epilogue), columns / GROUP].map(int);
  return [to.count(rows), x.x, to.weight(weights, GROUP_LAYOUT), ...sizes, ...sums.args];
}

/** Whether blocks may divide a product's k: gates and ups have no sums of their own, and sums are added up by fours. */
export function dividesSums({ weights, epilogue }: ProductIntent): boolean {
  return epilogue.kind !== 'gated' && outputsOf(weights, epilogue) % FINISHED === 0;
}

/** What the blocks of a product write of which `splits` divide k. */
export function productSums(
  { rows, weights, epilogue }: ProductIntent,
  splits: number,
  to: Lowering,
): ProductSums {
  if (splits === 1) {
    return {
      defines: productDefines(epilogue),
      args: [addendOf(epilogue, to), epilogue.y, int(0)],
      finish: () => undefined,
    };
  }
  invariant(epilogue.kind !== 'gated', 'gates and ups have no sums of their own');
  const apart = to.capacity(rows) * outputsOf(weights, epilogue);
  const sums = to.temporary(4 * splits * apart);
  const { kind, y } = epilogue;
  const finish = () => finishProduct({ rows, weights, epilogue, sums, type: 'f32', pieces: splits }, to);
  return {
    defines: { OUTPUT: 0, ACTIVATION: 0 },
    args: [NULL, sums, int(apart)],
    finish: () =>
      to.leave(
        { y, pieces: sums, count: splits, apart, epilogue: kind, addend: addendOf(epilogue, to) },
        finish,
      ),
  };
}

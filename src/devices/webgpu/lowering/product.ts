import type { Activation, Tensor, Weight } from '../../../ops/index.ts';
import { ADDENDS } from '../kernels/finish.ts';
import { activationText, FUNCTIONS } from '../kernels/library/functions.ts';
import { PRODUCT, STORE_FLOATS, STORE_GATED } from '../kernels/product.ts';
import type { Activations } from './activations.ts';
import { type Argument, type Lowering, type Operand, write } from './lowering.ts';
import { matrixOf } from './matrix.ts';
import { launchMatrixProduct } from './matrix-product.ts';
import { denseInput } from './matvec.ts';

/** Rows of a tile for few rows to many. */
const TILE_ROWS = [16, 32, 64];
const TILE_OUTPUTS = 64;

/** A product for more rows than the matrix-vector kernels take, over weights that lie one below the other. */
export interface Product {
  readonly x: Tensor;
  readonly weights: readonly Weight[];
  readonly y: Operand;
  readonly addend?: Argument | undefined;
  readonly kind: keyof typeof ADDENDS;
  /** Gate and up are the two weights, and this is done to the gate. */
  readonly gated?: Activation;
  /** What `y` is to hold: halves only where the product is computed on matrix units. */
  readonly form?: 'floats' | 'halves';
}

export function launchProduct(to: Lowering, activations: Activations, of: Product): void {
  const matrix = matrixOf(of.weights, to);
  const units = to.target.matrices;
  if (units && matrix.packed) {
    launchMatrixProduct(to, activations, { ...of, units });
    return;
  }
  const input = denseInput(of.x);
  const capacity = to.capacity(of.x);
  const tile = TILE_ROWS.find((rows) => rows >= capacity) ?? (TILE_ROWS.at(-1) as number);
  const parts = of.gated ? 2 : 1;
  const width = of.weights.reduce((sum, { rows }) => sum + rows, 0) / parts;
  for (const chunk of matrix.weight.chunks) {
    const rows = chunk.rowCount / parts;
    to.launch({
      name: of.gated ? 'gated_product' : 'product',
      texts: [
        PRODUCT,
        ...matrix.texts,
        ...input.texts,
        ...(of.gated ? [STORE_GATED, FUNCTIONS, activationText(of.gated)] : [STORE_FLOATS, ADDENDS[of.kind]]),
      ],
      constants: {
        COUNT: to.countOf(of.x),
        TILE_ROWS: tile,
        PART_ROWS: rows,
        WIDTH: width,
        FIRST_ROW: chunk.firstRow,
        ...matrix.constants,
        ...input.constants,
      },
      args: {
        counts: to.counts,
        weight: matrix.argument(chunk),
        ...input.args,
        ...(of.addend ? { addend: of.addend } : {}),
        y: write(of.y),
      },
      grid: [Math.ceil((parts * rows) / TILE_OUTPUTS), Math.ceil(capacity / tile)],
    });
  }
}

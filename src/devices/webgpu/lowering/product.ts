import { ADDENDS } from '../kernels/finish.ts';
import { GROUP_PRODUCT } from '../kernels/group-product.ts';
import { activationText, FUNCTIONS } from '../kernels/library/functions.ts';
import { PACKED_TILES } from '../kernels/packed-tiles.ts';
import { PRODUCT, STORE_FLOATS, STORE_GATED } from '../kernels/product.ts';
import { write } from './launch-plan.ts';
import type { Lowering } from './lowering.ts';
import { matrixOf } from './matrix.ts';
import { launchMatrixProduct } from './matrix-product.ts';
import type { Product } from './product-plan.ts';
import { denseInput } from './matvec.ts';

/** Rows of a tile for few rows to many. */
const TILE_ROWS = [16, 32, 64];
const TILE_OUTPUTS = 64;

export function launchProduct(to: Lowering, of: Product): void {
  const matrix = matrixOf(of.weights, to);
  const units = to.target.matrices;
  if (units && matrix.packed) {
    launchMatrixProduct(to, { ...of, units });
    return;
  }
  const integers = matrix.packed && to.target.packedDot;
  const input = integers ? to.activations.input(of.x, 0) : denseInput(of.x);
  const capacity = to.capacity(of.x);
  const tile = TILE_ROWS.find((rows) => rows >= capacity) ?? (TILE_ROWS.at(-1) as number);
  const parts = of.gated ? 2 : 1;
  const width = of.weights.reduce((sum, { rows }) => sum + rows, 0) / parts;
  for (const chunk of matrix.weight.chunks) {
    const rows = chunk.rowCount / parts;
    to.launch({
      name: `${of.gated ? 'gated_' : ''}${integers ? 'packed_' : ''}product`,
      texts: [
        ...(integers ? [PACKED_TILES, GROUP_PRODUCT] : [PRODUCT]),
        ...matrix.texts,
        ...input.texts,
        ...(of.gated ? [STORE_GATED, FUNCTIONS, activationText(of.gated)] : [STORE_FLOATS, ADDENDS[of.kind]]),
      ],
      constants: {
        COUNT: to.countOf(of.x),
        TILE_ROWS: tile,
        CAPACITY: capacity,
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

import type { ProductIntent } from '../../../device/index.ts';
import { ADDENDS } from '../kernels/finish.ts';
import { GROUP_PRODUCT } from '../kernels/group-product.ts';
import { activationText, FUNCTIONS } from '../kernels/library/functions.ts';
import { PACKED_TILES } from '../kernels/packed-tiles.ts';
import { PRODUCT, STORE_FLOATS, STORE_GATED } from '../kernels/product.ts';
import { addedBy, outputsOf } from './epilogue.ts';
import { write } from './launch-plan.ts';
import type { Lowering } from './lowering.ts';
import { matrixOf } from './matrix.ts';
import { emitMatrixProduct } from './matrix-product.ts';
import { integerInput, numberInput } from './product-input.ts';

/** Rows of a tile for few rows to many. */
const TILE_ROWS = [16, 32, 64];
const TILE_OUTPUTS = 64;

/** A product of many rows: on matrix units, by packed dot products or in f32, as the form of its activations says. */
export function emitProduct(of: ProductIntent, to: Lowering): void {
  if (of.x.form === 'f16') emitMatrixProduct(of, to);
  else emitTiles(of, to);
}

function emitTiles({ rows: x, x: activations, weights, epilogue }: ProductIntent, to: Lowering): void {
  const matrix = matrixOf(weights, to);
  const integers = activations.form === 'q8';
  const input = integers ? integerInput(activations, x, to) : numberInput(activations, x.width);
  const capacity = to.capacity(x);
  const tile = TILE_ROWS.find((rows) => rows >= capacity) ?? (TILE_ROWS.at(-1) as number);
  const gated = epilogue.kind === 'gated' ? epilogue : undefined;
  const { kind, args } = addedBy(epilogue, to);
  const parts = gated ? 2 : 1;
  const width = outputsOf(weights, epilogue);
  for (const chunk of matrix.weight.chunks) {
    const rows = chunk.rowCount / parts;
    to.launch({
      name: `${gated ? 'gated_' : ''}${integers ? 'packed_' : ''}product`,
      texts: [
        ...(integers ? [PACKED_TILES, GROUP_PRODUCT] : [PRODUCT]),
        ...matrix.texts,
        ...input.texts,
        ...(gated ? [STORE_GATED, FUNCTIONS, activationText(gated.fn)] : [STORE_FLOATS, ADDENDS[kind]]),
      ],
      constants: {
        COUNT: to.countOf(x),
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
        ...args,
        y: write(epilogue.y),
      },
      grid: [Math.ceil((parts * rows) / TILE_OUTPUTS), Math.ceil(capacity / tile)],
    });
  }
}

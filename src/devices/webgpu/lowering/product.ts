import type { ProductIntent } from '../../../device/index.ts';
import { ADDENDS } from '../kernels/epilogue.ts';
import { GROUP_PRODUCT } from '../kernels/group-product.ts';
import { FUNCTIONS, gatedText } from '../kernels/library/functions.ts';
import { PACKED_TILES } from '../kernels/packed-tiles.ts';
import { PRODUCT, STORE_FLOATS, STORE_GATED } from '../kernels/product.ts';
import { tileRowsText } from '../kernels/tile-rows.ts';
import { addedBy, NO_BIASES } from './epilogue.ts';
import { write } from './launch-plan.ts';
import type { Lowering } from './lowering.ts';
import { matrixOf } from './matrix.ts';
import { launchMatrixProduct } from './matrix-product.ts';
import { integerInput, numberInput } from './product-input.ts';
import { type TiledProduct, type TiledRows, tiledRows } from './tiled-product.ts';

/** Rows of a tile for few rows to many; those of few outputs are for fewer rows, so that there are workgroups enough. */
const TILE_ROWS = [16, 32, 64];
const FEW_GROUPS = 128;
const TILE_OUTPUTS = 64;

/** A product of many rows. */
export function emitProduct(of: ProductIntent, to: Lowering): void {
  launchProduct(of, to);
}

/** A product on matrix units, by packed dot products or in f32, as the form of its activations says. */
export function launchProduct(of: TiledProduct, to: Lowering): void {
  if (of.x.form === 'f16') launchMatrixProduct(of, to);
  else launchTiles(of, to);
}

/** The tile for so many rows; of experts' choices it is known. */
function tileFor({ kind, rows, outputs, tilesOf }: TiledRows): number {
  const across = Math.ceil(outputs / TILE_OUTPUTS);
  const isLargest = (tile: number) => kind !== 'experts' && across * tilesOf(2 * tile) < FEW_GROUPS;
  return TILE_ROWS.find((tile) => tile >= rows || isLargest(tile)) ?? (TILE_ROWS.at(-1) as number);
}

function launchTiles(of: TiledProduct, to: Lowering): void {
  const { rows: x, x: activations, weights, epilogue, experts } = of;
  const matrix = matrixOf(weights, to);
  const integers = activations.form === 'q8';
  const columns = weights[0]?.columns ?? x.width;
  const input = integers
    ? integerInput(activations, { of: x, columns }, to)
    : numberInput(activations, columns);
  const shape = tiledRows(of, to);
  const tile = tileFor(shape);
  const gated = epilogue.kind === 'gated' ? epilogue : undefined;
  const { kind, args } = addedBy(epilogue, to);
  const biases = experts?.biases ?? NO_BIASES;
  const parts = gated ? 2 : 1;
  for (const chunk of matrix.weight.chunks) {
    const rows = shape.rowsOf(chunk);
    to.launch({
      name: `${shape.prefix}${gated ? 'gated_' : ''}${integers ? 'packed_' : ''}product`,
      texts: [
        ...(integers ? [PACKED_TILES, GROUP_PRODUCT] : [PRODUCT]),
        tileRowsText(shape.kind),
        ...matrix.texts,
        ...input.texts,
        ...(gated
          ? [STORE_GATED, FUNCTIONS, gatedText(gated.fn)]
          : [STORE_FLOATS, ADDENDS[experts ? 'expert' : kind]]),
        ...(gated || experts ? biases.texts : []),
      ],
      constants: {
        COUNT: to.countOf(x),
        TILE_ROWS: tile,
        PART_ROWS: rows,
        WIDTH: shape.outputs,
        FIRST_ROW: chunk.firstRow,
        ...matrix.constants,
        ...input.constants,
        ...shape.constantsFor(tile),
      },
      args: {
        counts: to.counts,
        weight: matrix.argument(chunk),
        ...input.args,
        ...shape.args,
        ...args,
        y: write(epilogue.y),
      },
      grid: [Math.ceil((parts * rows) / TILE_OUTPUTS), shape.tilesOf(tile)],
    });
  }
}

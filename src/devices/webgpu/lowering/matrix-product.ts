import { invariant } from '../../../base/errors.ts';
import type { Epilogue } from '../../../device/index.ts';
import type { GpuMatrices, GpuTarget } from '../gpu-target.ts';
import { ADDENDS } from '../kernels/epilogue.ts';
import { FUNCTIONS, gatedText } from '../kernels/library/functions.ts';
import { QUAD_TO_HALF } from '../kernels/library/quad-halves.ts';
import { loopFor } from '../kernels/library/loop.ts';
import {
  EMIT_QUAD_FLOATS,
  EMIT_QUAD_HALVES,
  matrixProductTexts,
  type MatrixTileCounts,
  STORE_QUAD_FLOATS,
  STORE_QUAD_GATED,
} from '../kernels/matrix-product.ts';
import { PACKED_PIECES } from '../kernels/weight-halves.ts';
import type { Constant } from '../launching/kernel-module.ts';
import { tileRowsText } from '../kernels/tile-rows.ts';
import { type Added, addedBy, NO_BIASES } from './epilogue.ts';
import { groupFormat } from './group-layout.ts';
import { read, write } from './launch-plan.ts';
import type { Lowering } from './lowering.ts';
import { matrixOf } from './matrix.ts';
import { type TiledProduct, tiledRows } from './tiled-product.ts';

/** What a workgroup computes at once, and each of its subgroups. */
interface Tile {
  readonly rows: number;
  readonly outputs: number;
  readonly depth: number;
  readonly teamRows: number;
  readonly teamOutputs: number;
  /** Subgroups that share the columns of a slice. */
  readonly splits: number;
  /** Slices loaded ahead. */
  readonly ahead: 1 | 2;
}

/**
 * For few rows to many. Few rows wait for the weights: their tiles have few outputs, so that there are workgroups enough, and deep slices, two of
 * them on their way.
 */
const TILES: readonly Tile[] = [
  { rows: 16, outputs: 32, depth: 256, teamRows: 16, teamOutputs: 32, splits: 4, ahead: 2 },
  { rows: 32, outputs: 32, depth: 256, teamRows: 16, teamOutputs: 32, splits: 4, ahead: 2 },
  { rows: 64, outputs: 32, depth: 128, teamRows: 32, teamOutputs: 32, splits: 4, ahead: 2 },
  { rows: 128, outputs: 128, depth: 64, teamRows: 64, teamOutputs: 32, splits: 1, ahead: 1 },
];

/** For the choices of experts, and rows of heads, which are many workgroups together. */
const GROUPED_TILES: readonly Tile[] = [
  { rows: 32, outputs: 64, depth: 64, teamRows: 16, teamOutputs: 32, splits: 1, ahead: 1 },
  { rows: 64, outputs: 64, depth: 64, teamRows: 32, teamOutputs: 32, splits: 1, ahead: 1 },
  { rows: 128, outputs: 128, depth: 64, teamRows: 64, teamOutputs: 32, splits: 1, ahead: 1 },
];

/** Rows of the largest matrices. */
const MAX_MATRIX_ROWS = 16;
/** Columns that divide those of all packed weights. */
const MIN_DEPTH = 32;

/** Subgroups of a workgroup. */
function teamsOf({ rows, outputs, teamRows, teamOutputs, splits }: Tile): number {
  return (splits * rows * outputs) / (teamRows * teamOutputs);
}

/** Workgroup memory that a tile takes: lines are one vector longer than their octets; in the end it holds sums of all teams. */
function tileBytes(tile: Tile): number {
  const { rows, outputs, depth, teamOutputs } = tile;
  const sums = (teamsOf(tile) * MAX_MATRIX_ROWS * teamOutputs) / 4;
  return 16 * Math.max((rows + outputs) * (depth / 8 + 1), sums);
}

/** A tile, and the same with slices half as deep for half as many threads, and so on. */
function withShallower(tile: Tile): Tile[] {
  const { depth, splits } = tile;
  if (depth <= MIN_DEPTH) return [tile];
  return [tile, ...withShallower({ ...tile, depth: depth / 2, splits: Math.max(1, splits / 2) })];
}

/** The tile for so many rows, with the deepest slices that fit, and smaller where none do. */
function tileFor(tiles: readonly Tile[], rows: number, columns: number, { workgroupBytes }: GpuTarget): Tile {
  const fits = (tile: Tile) => columns % tile.depth === 0 && tileBytes(tile) <= workgroupBytes;
  const usable = tiles.flatMap((tile) => withShallower(tile).filter(fits).slice(0, 1));
  const tile = usable.find((of) => of.rows >= rows) ?? usable.at(-1);
  invariant(tile, 'the smallest tile has room on every target');
  return tile;
}

/** A product on the target's matrix units. */
export function launchMatrixProduct(of: TiledProduct, to: Lowering): void {
  const { rows: x, x: activations, weights, epilogue, experts } = of;
  const units = to.target.matrices;
  invariant(units, 'only a target with matrix units is given products of f16 activations');
  const matrix = matrixOf(weights, to);
  const shape = tiledRows(of, to);
  const parts = epilogue.kind === 'gated' ? 2 : 1;
  const tiles = shape.kind === 'batch' ? TILES : GROUPED_TILES;
  const tile = tileFor(tiles, shape.rows, weights[0]?.columns ?? x.width, to.target);
  const added = addedBy(epilogue, to);
  for (const chunk of matrix.weight.chunks) {
    const rows = shape.rowsOf(chunk);
    to.launch({
      name: `${shape.prefix}${parts === 2 ? 'gated_' : ''}matrix_product`,
      texts: [
        ...matrixProductTexts(tileCounts(tile, units), loopFor(to.target)),
        tileRowsText(shape.kind),
        QUAD_TO_HALF,
        PACKED_PIECES,
        units.text,
        units.decodeText,
        ...matrix.texts,
        ...storeTexts(epilogue, experts ? 'expert' : added.kind),
        ...(parts === 2 || experts ? (experts?.biases ?? NO_BIASES).texts : []),
      ],
      constants: {
        COUNT: to.countOf(x),
        PART_ROWS: rows,
        WIDTH: shape.outputs,
        FIRST_ROW: chunk.firstRow,
        ...tileConstants(tile, units),
        WEIGHT_SCALE: { f32: groupFormat(weights[0]).groups.weightScale },
        ...matrix.constants,
        ...shape.constantsFor(tile.rows),
      },
      args: {
        counts: to.counts,
        weight: matrix.argument(chunk),
        x: read(activations.x, 'array<vec4<u32>>'),
        ...shape.args,
        ...added.args,
        y: write(epilogue.y, isF16(epilogue) ? 'array<vec2<u32>>' : 'array<f32>'),
      },
      grid: [Math.ceil((parts * rows) / tile.outputs), shape.tilesOf(tile.rows)],
    });
  }
}

function tileConstants(tile: Tile, { rows, outputs, depth, lanes }: GpuMatrices): Record<string, Constant> {
  return {
    LANES: lanes,
    SPLITS: tile.splits,
    TILE_ROWS: tile.rows,
    TILE_OUTPUTS: tile.outputs,
    DEPTH: tile.depth,
    TEAM_ROWS: tile.teamRows,
    TEAM_OUTPUTS: tile.teamOutputs,
    MATRIX_ROWS: rows,
    MATRIX_OUTPUTS: outputs,
    MATRIX_DEPTH: depth,
  };
}

/** How much of a tile a thread loads and a team multiplies. */
function tileCounts(tile: Tile, { rows, outputs, lanes }: GpuMatrices): MatrixTileCounts {
  const threads = lanes * teamsOf(tile);
  const counts = {
    rowParts: tile.teamRows / rows,
    outputParts: tile.teamOutputs / outputs,
    ownOctets: (tile.rows * tile.depth) / 8 / threads,
    ownPieces: (tile.outputs * tile.depth) / 16 / threads,
    ahead: tile.ahead,
  };
  invariant(Object.values(counts).every(Number.isInteger), 'a tile is shared out evenly');
  return counts;
}

/** Whether gate and up leave f16. */
function isF16(epilogue: Epilogue): boolean {
  return epilogue.kind === 'gated' && epilogue.form === 'f16';
}

function storeTexts(epilogue: Epilogue, kind: Added['kind']): string[] {
  if (epilogue.kind !== 'gated') {
    return [STORE_QUAD_FLOATS, ADDENDS[kind]];
  }
  const emit = isF16(epilogue) ? EMIT_QUAD_HALVES : EMIT_QUAD_FLOATS;
  return [STORE_QUAD_GATED, emit, FUNCTIONS, gatedText(epilogue.fn)];
}

import { invariant } from '../../../base/errors.ts';
import type { Epilogue } from '../../../device/index.ts';
import type { GpuMatrices } from '../gpu-target.ts';
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
  /** Most outputs that it is for. */
  readonly mostOutputs?: number;
}

/**
 * For few rows to many, of the same number of rows those of few outputs first: measured on an H200, with 4 096 to 28 672 outputs. Of few
 * outputs, wide tiles would leave too few workgroups; deep slices, and two of them at once, load as much as more of them would.
 */
const TILES: readonly Tile[] = [
  { ...tile(16, 32, 256), teamRows: 16, teamOutputs: 32, splits: 4, ahead: 2, mostOutputs: 4096 },
  { ...tile(32, 32, 256), teamRows: 16, teamOutputs: 16, mostOutputs: 4096 },
  { ...tile(32, 32, 128), teamRows: 16, teamOutputs: 16, mostOutputs: 8192 },
  { ...tile(16, 64, 128), teamRows: 16, teamOutputs: 16 },
  { ...tile(32, 64, 64), teamRows: 16, teamOutputs: 32 },
  { ...tile(64, 32, 128), teamRows: 32, teamOutputs: 16, mostOutputs: 4096 },
  { ...tile(64, 64, 64), teamRows: 16, teamOutputs: 32 },
  { ...tile(64, 64, 64), teamRows: 32, teamOutputs: 32 },
  { ...tile(128, 128, 64), teamRows: 64, teamOutputs: 32 },
  { ...tile(256, 64, 64), teamRows: 64, teamOutputs: 32 },
];

/** For the choices of experts, and rows of heads, which are many workgroups together. */
const GROUPED_TILES: readonly Tile[] = [
  { ...tile(32, 64, 64), teamRows: 16, teamOutputs: 32 },
  { ...tile(64, 64, 64), teamRows: 32, teamOutputs: 32 },
  { ...tile(128, 128, 64), teamRows: 64, teamOutputs: 32 },
];

function tile(rows: number, outputs: number, depth: number): Omit<Tile, 'teamRows' | 'teamOutputs'> {
  return { rows, outputs, depth, splits: 1, ahead: 1 };
}

/** Outputs of a gate and its up that are side by side. */
const GATED_OUTPUTS = 32;
/** Rows of the largest matrices. */
const MAX_MATRIX_ROWS = 16;
/** Columns that divide those of all packed weights. */
const MIN_DEPTH = 32;

/** Octets of activations and pieces of weights in a thread's part of a slice. */
function ownParts(of: Tile, lanes: number): { readonly ownOctets: number; readonly ownPieces: number } {
  const threads = lanes * teamsOf(of);
  return {
    ownOctets: (of.rows * of.depth) / 8 / threads,
    ownPieces: (of.outputs * of.depth) / 16 / threads,
  };
}

/** Subgroups of a workgroup. */
function teamsOf({ rows, outputs, teamRows, teamOutputs, splits }: Tile): number {
  return (splits * rows * outputs) / (teamRows * teamOutputs);
}

/** Workgroup memory that a tile takes: lines are one vector longer than their octets; in the end it holds sums of all teams. */
function tileBytes(of: Tile): number {
  const { rows, outputs, depth, teamOutputs } = of;
  const sums = (teamsOf(of) * MAX_MATRIX_ROWS * teamOutputs) / 4;
  return 16 * Math.max((rows + outputs) * (depth / 8 + 1), sums);
}

/** A tile, and the same with slices half as deep for half as many threads, and so on. */
function withShallower(of: Tile): Tile[] {
  const { depth, splits } = of;
  if (depth <= MIN_DEPTH) return [of];
  return [of, ...withShallower({ ...of, depth: depth / 2, splits: Math.max(1, splits / 2) })];
}

/** What tiles are chosen by. */
interface ProductShape {
  readonly rows: number;
  readonly columns: number;
  readonly outputs: number;
  /** Gate and up: 16 outputs of each are side by side in a team. */
  readonly isGated: boolean;
}

/** The first tile for so many rows and outputs, with the deepest slices that fit, and the last one where none has so many rows. */
function tileFor(
  tiles: readonly Tile[],
  of: ProductShape,
  { workgroupBytes, lanes }: { readonly workgroupBytes: number; readonly lanes: number },
): Tile {
  const fits = (one: Tile) =>
    of.columns % one.depth === 0 &&
    tileBytes(one) <= workgroupBytes &&
    Object.values(ownParts(one, lanes)).every(Number.isInteger);
  const isFor = ({ teamOutputs, mostOutputs = Infinity }: Tile) =>
    of.isGated ? teamOutputs % GATED_OUTPUTS === 0 && mostOutputs === Infinity : of.outputs <= mostOutputs;
  const usable = tiles.filter(isFor).flatMap((one) => withShallower(one).filter(fits).slice(0, 1));
  const found = usable.find(({ rows }) => rows >= of.rows) ?? usable.at(-1);
  invariant(found, 'the smallest tile has room on every target');
  return found;
}

/** A product on the target's matrix units. */
export function launchMatrixProduct(of: TiledProduct, to: Lowering): void {
  const { rows: x, x: activations, weights, epilogue, experts } = of;
  const units = to.target.matrices;
  invariant(units, 'only a target with matrix units is given products of f16 activations');
  const matrix = matrixOf(weights, to);
  const shape = tiledRows(of, to);
  const parts = epilogue.kind === 'gated' ? 2 : 1;
  const chosen = tileFor(
    shape.kind === 'batch' ? TILES : GROUPED_TILES,
    {
      rows: shape.rows,
      columns: weights[0]?.columns ?? x.width,
      outputs: shape.outputs,
      isGated: parts === 2,
    },
    { workgroupBytes: to.target.workgroupBytes, lanes: units.lanes },
  );
  const added = addedBy(epilogue, to);
  for (const chunk of matrix.weight.chunks) {
    const rows = shape.rowsOf(chunk);
    to.launch({
      name: `${shape.prefix}${parts === 2 ? 'gated_' : ''}matrix_product`,
      texts: [
        ...matrixProductTexts(tileCounts(chosen, units), loopFor(to.target)),
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
        ...tileConstants(chosen, units),
        WEIGHT_SCALE: { f32: groupFormat(weights[0]).groups.weightScale },
        ...matrix.constants,
        ...shape.constantsFor(chosen.rows),
      },
      args: {
        counts: to.counts,
        weight: matrix.argument(chunk),
        x: read(activations.x, 'array<vec4<u32>>'),
        ...shape.args,
        ...added.args,
        y: write(epilogue.y, isF16(epilogue) ? 'array<vec2<u32>>' : 'array<f32>'),
      },
      grid: [Math.ceil((parts * rows) / chosen.outputs), shape.tilesOf(chosen.rows)],
    });
  }
}

function tileConstants(of: Tile, { rows, outputs, depth, lanes }: GpuMatrices): Record<string, Constant> {
  return {
    LANES: lanes,
    SPLITS: of.splits,
    TILE_ROWS: of.rows,
    TILE_OUTPUTS: of.outputs,
    DEPTH: of.depth,
    TEAM_ROWS: of.teamRows,
    TEAM_OUTPUTS: of.teamOutputs,
    MATRIX_ROWS: rows,
    MATRIX_OUTPUTS: outputs,
    MATRIX_DEPTH: depth,
  };
}

/** How much of a tile a thread loads and a team multiplies. */
function tileCounts(of: Tile, { rows, outputs, lanes }: GpuMatrices): MatrixTileCounts {
  const counts = {
    rowParts: of.teamRows / rows,
    outputParts: of.teamOutputs / outputs,
    ...ownParts(of, lanes),
    ahead: of.ahead,
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

import type { ChosenPositions } from './choose-positions.ts';
import { type Cost, rowwiseCost } from './cost.ts';
import type { PagedCache } from './paged-cache.ts';
import type { Recorder } from './recorder.ts';
import type { BatchTensors, Tensor, Weight } from './value.ts';

/**
 * A cache whose blocks hold the keys of their positions and, behind these, cells that stand for `ratio` positions each
 * (DeepSeek-AI 2026, "DeepSeek V4", compressed attention). A cell is complete with the last of its positions, in whose
 * block it lies: at `positions + (p % positions) / ratio` of that block's `positions + cells` places.
 */
export interface CellBlocks {
  /** Positions that a cell stands for: a divisor of those of a block, or a multiple. */
  readonly ratio: number;
  /** Positions of a block. */
  readonly positions: number;
}

/** Cells of a block. */
export function cellsPerBlock({ ratio, positions }: CellBlocks): number {
  return Math.max(1, positions / ratio);
}

/** Where a row's position is among the cells: all i32 [rows, 1]. */
export interface CellPlaces {
  /** The place of the row's own key, counted in places of its sequence's blocks. */
  readonly own: Tensor;
  /** The place of the cell that the row completes; -1 if it completes none. */
  readonly cell: Tensor;
  /** The place of that cell among the cells alone; -1 if there is none. */
  readonly index: Tensor;
  /** The last complete cell among the cells alone; -1 if there is none. */
  readonly last: Tensor;
  /** The first position of the cell that the row belongs to. */
  readonly start: Tensor;
}

/** Where each row's key and the cell that it completes are written, and which cells it sees. */
export interface CellPlacesOp extends CellPlaces, CellBlocks {
  readonly kind: 'cellPlaces';
  readonly batch: Pick<BatchTensors, 'positions'>;
}

function requireBlocks(g: Recorder<never>, { ratio, positions }: CellBlocks): void {
  const isWhole = ratio > 0 && (positions % ratio === 0 || ratio % positions === 0);
  g.require(isWhole, `cells of ${ratio} positions and blocks of ${positions} are whole parts of each other`);
}

/** Computes the places of the batch's rows. */
export function cellPlaces(g: Recorder<CellPlacesOp>, of: CellBlocks): CellPlaces {
  requireBlocks(g, of);
  const row = (name: string) => g.temp(name, { axis: 'rows', width: 1, type: 'i32' });
  const places = {
    own: row('own'),
    cell: row('cell'),
    index: row('index'),
    last: row('last'),
    start: row('start'),
  };
  const { ratio, positions } = of;
  g.push({ kind: 'cellPlaces', ratio, positions, batch: { positions: g.batch.positions }, ...places });
  return places;
}

/** The places of one position, in the order of `CellPlaces`: the definition. */
export function placesOf(of: CellBlocks, position: number): Record<keyof CellPlaces, number> {
  const { ratio, positions } = of;
  const cells = cellsPerBlock(of);
  const [block, within] = [Math.floor(position / positions), position % positions];
  const completes = (position + 1) % ratio === 0;
  const cell = Math.floor(within / ratio);
  return {
    own: block * (positions + cells) + within,
    cell: completes ? block * (positions + cells) + positions + cell : -1,
    index: completes ? block * cells + cell : -1,
    last: Math.floor((position + 1) / ratio) - 1,
    start: position - (position % ratio),
  };
}

/**
 * The value of the cell that a row completes: of each element the mean of its positions' values, weighted by the softmax of
 * their scores; zeros for other rows. With `overlaps`, keys and values are twice as wide: the cell's own positions have their
 * second half, and the positions of the cell before it their first, if there is one.
 */
export interface CompressCellsOp extends Pick<CellBlocks, 'ratio'> {
  readonly kind: 'compressCells';
  /** F32: the values in `keys`, their scores in `values`, of the last positions at least. */
  readonly cache: PagedCache;
  /** What is added to the scores by a position's place in its cell: a row for each. */
  readonly bias: Weight;
  readonly overlaps: boolean;
  readonly batch: Pick<BatchTensors, 'slots' | 'positions' | 'blocks'>;
  /** f32 [rows, elements of a cell]. */
  readonly out: Tensor;
}

/** Compresses positions into the cells that the rows complete: f32 [rows, width of the keys, or half of it]. */
export function compressCells(
  g: Recorder<CompressCellsOp>,
  of: Pick<CompressCellsOp, 'cache' | 'bias' | 'overlaps' | 'ratio'>,
): Tensor {
  const { cache, bias, overlaps, ratio } = of;
  const { keys, values } = cache;
  const isFloat = keys.type === 'f32' && values?.type === 'f32' && values.width === keys.width;
  g.require(isFloat, 'values and scores of positions are f32, and equally wide');
  g.require(
    bias.rows === ratio && bias.columns === keys.width,
    `there are scores for ${ratio} places in a cell`,
  );
  const width = overlaps ? keys.width / 2 : keys.width;
  const out = g.temp('compressCells', { axis: 'rows', width });
  const { slots, positions } = g.batch;
  const batch = { slots, positions, blocks: cache.blocks };
  g.push({ kind: 'compressCells', cache, bias, overlaps, ratio, batch, out });
  return out;
}

/**
 * What a row attends to in a cache of `CellBlocks`: the last `window` positions up to its own, and behind them complete
 * cells, either the first `most` of them or those that were chosen for it.
 */
export interface JoinCellsOp extends CellBlocks, ChosenPositions {
  readonly kind: 'joinCells';
  readonly window: number;
  /** I32 [rows, most]: the cells of a cache of cells alone, of which each row has as many as it sees complete ones, if they fit. */
  readonly chosen: Tensor | undefined;
  /** Maximum cells of a row. */
  readonly most: number;
  readonly batch: Pick<BatchTensors, 'slots' | 'positions' | 'blocks'>;
}

/** Joins the window's positions with cells, as a table for `attention`. */
export function joinCells(
  g: Recorder<JoinCellsOp>,
  of: Pick<JoinCellsOp, 'ratio' | 'positions' | 'window'> & {
    readonly blocks: Tensor;
    readonly chosen?: Tensor | undefined;
  },
): ChosenPositions {
  requireBlocks(g, of);
  const { ratio, positions, window, chosen, blocks } = of;
  g.require(Number.isSafeInteger(window) && window > 0, 'the window has whole positions');
  g.require(chosen === undefined || chosen.type === 'i32', 'cells are chosen by their places');
  const { blocksPerSlot } = g.shape;
  const isTable = blocks.axis === 'slots' && blocks.width === blocksPerSlot;
  g.require(isTable, `the cache's block table has ${blocksPerSlot} blocks for each slot`);
  const most = chosen?.width ?? Math.max(1, Math.floor((blocksPerSlot * positions) / ratio));
  const row = (name: string, width: number) => g.temp(name, { axis: 'rows', width, type: 'i32' });
  const joined = { cells: row('cells', window + most), places: row('places', 1), limits: row('limits', 1) };
  const batch = { slots: g.batch.slots, positions: g.batch.positions, blocks };
  g.push({ kind: 'joinCells', ratio, positions, window, chosen, most, batch, ...joined });
  return joined;
}

/** Reads one number, writes five. */
export function cellPlacesCost(_: CellPlacesOp, rows: number): Cost {
  return rowwiseCost(rows, 6, 10);
}

/** Each position is in one cell, or in two; only the rows that complete a cell read. */
export function compressCellsCost({ cache, out }: CompressCellsOp, rows: number): Cost {
  return rowwiseCost(rows, 2 * cache.keys.width + out.width, 6 * cache.keys.width);
}

/** Writes the table once. */
export function joinCellsCost({ cells, chosen }: JoinCellsOp, rows: number): Cost {
  return rowwiseCost(rows, cells.width + 2 + (chosen?.width ?? 0), 4 * cells.width);
}

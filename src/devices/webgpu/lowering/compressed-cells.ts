import {
  type CellPlacesOp,
  cellsPerBlock,
  type CompressCellsOp,
  type JoinCellsOp,
  type StreamSharesOp,
} from '../../../ops/index.ts';
import {
  CELL_PLACES,
  CHOSEN_CELLS,
  COMPRESS_CELLS,
  FIRST_CELLS,
  JOIN_CELLS,
  STREAM_SHARES,
} from '../kernels/compressed-cells.ts';
import { FUNCTIONS } from '../kernels/library/functions.ts';
import { PAGED_CACHE } from '../kernels/library/paged-cache.ts';
import { type Argument, read, write } from './launch-plan.ts';
import type { Lowering } from './lowering.ts';
import { FLOAT_LAYOUT } from './weight-layout.ts';

/** Threads of a workgroup that takes rows, and of one that takes a row. */
const ROW_THREADS = 64;
const THREADS = 128;

function indices(value: Parameters<typeof write>[0]): Argument {
  return write(value, 'array<i32>');
}

export function lowerCellPlaces(op: CellPlacesOp, to: Lowering): void {
  const { own, cell, index, last, start, batch, ratio, positions } = op;
  to.launch({
    name: 'cell_places',
    texts: [CELL_PLACES],
    constants: {
      THREADS: ROW_THREADS,
      COUNT: to.countOf(own),
      RATIO: ratio,
      BLOCK_SIZE: positions,
      CELLS: cellsPerBlock(op),
    },
    args: {
      counts: to.counts,
      positions: to.index(batch.positions),
      own: indices(own),
      cell: indices(cell),
      index: indices(index),
      last: indices(last),
      start: indices(start),
    },
    grid: [Math.ceil(to.capacity(own) / ROW_THREADS)],
  });
}

export function lowerCompressCells(op: CompressCellsOp, to: Lowering): void {
  const { cache, bias, overlaps, ratio, batch, out } = op;
  to.launch({
    name: 'compress_cells',
    texts: [COMPRESS_CELLS, FUNCTIONS, PAGED_CACHE],
    constants: {
      THREADS,
      COUNT: to.countOf(out),
      WIDTH: out.width,
      KEPT: cache.keys.width,
      RATIO: ratio,
      OVERLAPS: overlaps,
      BLOCKS_PER_SLOT: batch.blocks.width,
      BLOCK_SIZE: cache.blockSize,
    },
    args: {
      counts: to.counts,
      slots: to.index(batch.slots),
      positions: to.index(batch.positions),
      blocks: read(batch.blocks, 'array<i32>'),
      keys: read(cache.keys),
      ...(cache.values && { values: read(cache.values) }),
      bias: to.vector(bias, FLOAT_LAYOUT),
      y: write(out),
    },
    grid: [to.capacity(out), Math.ceil(out.width / THREADS)],
  });
}

export function lowerJoinCells(op: JoinCellsOp, to: Lowering): void {
  const { cells, places, limits, chosen, most, window, ratio, batch } = op;
  to.launch({
    name: 'join_cells',
    texts: [JOIN_CELLS, chosen ? CHOSEN_CELLS : FIRST_CELLS],
    constants: {
      THREADS,
      COUNT: to.countOf(cells),
      WINDOW: window,
      MOST: most,
      RATIO: ratio,
      BLOCK_SIZE: op.positions,
      CELLS: cellsPerBlock(op),
      BLOCKS_PER_SLOT: batch.blocks.width,
    },
    args: {
      counts: to.counts,
      slots: to.index(batch.slots),
      positions: to.index(batch.positions),
      blocks: read(batch.blocks, 'array<i32>'),
      ...(chosen && { chosen: read(chosen, 'array<i32>') }),
      cells: indices(cells),
      places: indices(places),
      limits: indices(limits),
    },
    grid: [to.capacity(cells)],
  });
}

export function lowerStreamShares(op: StreamSharesOp, to: Lowering): void {
  const { mixes, scale, base, streams, iterations, epsilon, out } = op;
  to.launch({
    name: 'stream_shares',
    texts: [STREAM_SHARES, FUNCTIONS],
    constants: {
      THREADS: ROW_THREADS,
      COUNT: to.countOf(out),
      STREAMS: streams,
      READS: mixes.width === streams,
      SCALES: scale.columns,
      ITERATIONS: iterations,
      EPSILON: { f32: epsilon },
    },
    args: {
      counts: to.counts,
      x: read(mixes),
      scale: to.vector(scale, FLOAT_LAYOUT),
      base: to.vector(base, FLOAT_LAYOUT),
      y: write(out),
    },
    grid: [Math.ceil(to.capacity(out) / ROW_THREADS)],
  });
}

import {
  type CellPlacesOp,
  cellsPerBlock,
  type CompressCellsOp,
  type JoinCellsOp,
  type StreamSharesOp,
} from '../../../ops/index.ts';
import { float, int, NULL } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { FLOAT_LAYOUT } from './weight-layout.ts';

const FILE = 'compressed-cells.hip';
/** Threads of a block of each kernel. */
const PLACES_THREADS = 64;
const THREADS = 128;
const SHARES_THREADS = 32;

export function lowerCellPlaces(op: CellPlacesOp, to: Lowering): void {
  const { own, cell, index, last, start, batch, ratio, positions } = op;
  to.launch({
    file: FILE,
    kernel: 'cell_places',
    grid: [Math.ceil(to.capacity(own) / PLACES_THREADS)],
    block: PLACES_THREADS,
    args: [
      ...[to.count(own), batch.positions, own, cell, index, last, start],
      ...[int(ratio), int(positions), int(cellsPerBlock(op))],
    ],
  });
}

export function lowerCompressCells(op: CompressCellsOp, to: Lowering): void {
  const { cache, bias, overlaps, ratio, batch, out } = op;
  const { slots, positions, blocks } = batch;
  to.launch({
    file: FILE,
    kernel: 'compress_cells',
    grid: [to.capacity(out), Math.ceil(out.width / THREADS)],
    block: THREADS,
    args: [
      ...[to.count(out), slots, positions, blocks, int(blocks.width), int(cache.blockSize)],
      ...[cache.keys, cache.values ?? NULL, to.weight([bias], FLOAT_LAYOUT), out],
      ...[int(out.width), int(ratio), int(overlaps ? 1 : 0)],
    ],
  });
}

export function lowerJoinCells(op: JoinCellsOp, to: Lowering): void {
  const { cells, places, limits, chosen, most, window, ratio, batch } = op;
  const { slots, positions, blocks } = batch;
  to.launch({
    file: FILE,
    kernel: 'join_cells',
    grid: [to.capacity(cells)],
    block: THREADS,
    args: [
      ...[to.count(cells), slots, positions, blocks, int(blocks.width), int(op.positions)],
      ...[chosen ?? NULL, cells, places, limits],
      ...[int(ratio), int(cellsPerBlock(op)), int(window), int(most)],
    ],
  });
}

export function lowerStreamShares(op: StreamSharesOp, to: Lowering): void {
  const { mixes, scale, base, streams, iterations, epsilon, out } = op;
  to.launch({
    file: 'stream-shares.hip',
    kernel: 'stream_shares',
    defines: { STREAMS: streams, READS: mixes.width === streams ? 1 : 0, ITERATIONS: iterations },
    grid: [Math.ceil(to.capacity(out) / SHARES_THREADS)],
    block: SHARES_THREADS,
    args: [
      ...[to.count(out), mixes, to.weight([scale], FLOAT_LAYOUT), to.weight([base], FLOAT_LAYOUT), out],
      float(epsilon),
    ],
  });
}

import {
  type CellPlacesOp,
  cellsPerBlock,
  type CompressCellsOp,
  type JoinCellsOp,
  placesOf,
  sharesOfRow,
  type StreamSharesOp,
} from '../../../ops/index.ts';
import type { Frame } from '../frame.ts';
import { cellOf } from './paged-cell.ts';

export function runCellPlaces(op: CellPlacesOp, frame: Frame): void {
  for (let row = 0; row < frame.rowsOf(op.own); row++) {
    const places = placesOf(op, frame.matrix(op.batch.positions).scalar(row));
    for (const name of ['own', 'cell', 'index', 'last', 'start'] as const) {
      frame.matrix(op[name]).write(row, [places[name]]);
    }
  }
}

export function runCompressCells(op: CompressCellsOp, frame: Frame): void {
  const { cache, bias, overlaps, ratio, batch, out } = op;
  const { width } = out;
  const places = Array.from({ length: ratio }, (_, place) => frame.weightRow(bias, place));
  for (let row = 0; row < frame.rowsOf(out); row++) {
    const slot = frame.matrix(batch.slots).scalar(row);
    const last = frame.matrix(batch.positions).scalar(row);
    const means = new Float64Array(width);
    if ((last + 1) % ratio === 0) {
      const first = Math.max(0, last + 1 - (overlaps ? 2 : 1) * ratio);
      const seen = Array.from({ length: last + 1 - first }, (_, i) => {
        const position = first + i;
        const cell = cellOf(frame, { cache, batch, slot, position });
        const half = overlaps && position > last - ratio ? width : 0;
        const part = (of: Float64Array) => of.subarray(half, half + width);
        const values = part(frame.matrix(cache.keys).read(cell));
        const scores = part(frame.matrix(cache.values ?? cache.keys).read(cell));
        const added = part(places[position % ratio] as Float64Array);
        return { values, scores: scores.map((score, at) => score + (added[at] as number)) };
      });
      means.forEach((_, i) => {
        const largest = Math.max(...seen.map(({ scores }) => scores[i] as number));
        const weights = seen.map(({ scores }) => Math.exp((scores[i] as number) - largest));
        const sum = weights.reduce((a, b) => a + b, 0);
        means[i] = seen.reduce(
          (mean, { values }, at) => mean + ((weights[at] as number) / sum) * (values[i] as number),
          0,
        );
      });
    }
    frame.matrix(out).write(row, means);
  }
}

export function runJoinCells(op: JoinCellsOp, frame: Frame): void {
  const { ratio, positions, window, most, batch } = op;
  const inBlock = cellsPerBlock(op);
  const all = positions + inBlock;
  for (let row = 0; row < frame.rowsOf(op.cells); row++) {
    const slot = frame.matrix(batch.slots).scalar(row);
    const seen = frame.matrix(batch.positions).scalar(row) + 1;
    const blockAt = (position: number) =>
      frame.matrix(batch.blocks).scalar(slot, Math.floor(position / positions));
    const near = Array.from({ length: Math.min(window, seen) }, (_, i, count = Math.min(window, seen)) => {
      const position = seen - count + i;
      return blockAt(position) * all + (position % positions);
    });
    const chosen = op.chosen && frame.matrix(op.chosen).read(row);
    const far = Array.from({ length: Math.min(most, Math.floor(seen / ratio)) }, (_, i) => {
      const position = (i + 1) * ratio - 1;
      const first = blockAt(position) * inBlock + Math.floor((position % positions) / ratio);
      const cell = chosen?.[i] ?? first;
      return Math.floor(cell / inBlock) * all + positions + (cell % inBlock);
    });
    const cells = new Float64Array(op.cells.width);
    cells.set([...near, ...far]);
    frame.matrix(op.cells).write(row, cells);
    frame.matrix(op.places).write(row, [row]);
    frame.matrix(op.limits).write(row, [near.length + far.length - 1]);
  }
}

export function runStreamShares(op: StreamSharesOp, frame: Frame): void {
  const of = { scale: frame.vector(op.scale), base: frame.vector(op.base) };
  for (let row = 0; row < frame.rowsOf(op.out); row++) {
    frame.matrix(op.out).write(row, sharesOfRow(frame.matrix(op.mixes).read(row), of, op));
  }
}

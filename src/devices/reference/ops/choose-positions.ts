import { type ChoosePositionsOp, chooseRow } from '../../../ops/index.ts';
import type { Frame } from '../frame.ts';

export function runChoosePositions(op: ChoosePositionsOp, frame: Frame): void {
  const { scores, groups, cache, batch, cells, places, limits } = op;
  const { blockSize } = cache;
  const [line, most] = [scores.width / groups, cells.width / groups];
  for (let row = 0; row < frame.rowsOf(cells); row++) {
    const slot = frame.matrix(batch.slots).scalar(row);
    const last = frame.matrix(batch.positions).scalar(row);
    const own = { cells: new Float64Array(cells.width), limits: new Float64Array(groups) };
    for (let group = 0; group < groups; group++) {
      const visible = frame
        .matrix(scores)
        .read(row)
        .subarray(group * line, group * line + last + 1);
      const positions = chooseRow(visible, op);
      positions.forEach((position, at) => {
        const block = frame.matrix(batch.blocks).scalar(slot, Math.floor(position / blockSize));
        own.cells[group * most + at] = block * blockSize + (position % blockSize);
      });
      own.limits[group] = positions.length - 1;
    }
    frame.matrix(cells).write(row, own.cells);
    frame.matrix(places).write(
      row,
      Array.from({ length: groups }, (_, group) => groups * row + group),
    );
    frame.matrix(limits).write(row, own.limits);
  }
}

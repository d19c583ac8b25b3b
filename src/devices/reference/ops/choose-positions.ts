import { type ChoosePositionsOp, chooseRow } from '../../../ops/index.ts';
import type { Frame } from '../frame.ts';

export function runChoosePositions(op: ChoosePositionsOp, frame: Frame): void {
  const { scores, count, cache, batch, cells, places, limits } = op;
  const { blockSize } = cache;
  for (let row = 0; row < frame.rowsOf(cells); row++) {
    const slot = frame.matrix(batch.slots).scalar(row);
    const last = frame.matrix(batch.positions).scalar(row);
    const positions = chooseRow(
      frame
        .matrix(scores)
        .read(row)
        .subarray(0, last + 1),
      count,
    );
    const own = new Float64Array(count);
    positions.forEach((position, at) => {
      const block = frame.matrix(batch.blocks).scalar(slot, Math.floor(position / blockSize));
      own[at] = block * blockSize + (position % blockSize);
    });
    frame.matrix(cells).write(row, own);
    frame.matrix(places).write(row, Float64Array.of(row));
    frame.matrix(limits).write(row, Float64Array.of(positions.length - 1));
  }
}

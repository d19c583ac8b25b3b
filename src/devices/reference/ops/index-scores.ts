import type { IndexScoresOp } from '../../../ops/index.ts';
import type { Frame } from '../frame.ts';
import { dot } from './dot.ts';
import { cellOf } from './paged-cell.ts';

export function runIndexScores(op: IndexScoresOp, frame: Frame): void {
  const { cache, batch, heads, headSize } = op;
  const positions = op.out.width / (op.weights ? 1 : heads);
  for (let row = 0; row < frame.rowsOf(op.out); row++) {
    const slot = frame.matrix(batch.slots).scalar(row);
    const last = frame.matrix(batch.positions).scalar(row);
    const q = frame.matrix(op.q).read(row);
    const weights = op.weights && frame.matrix(op.weights).read(row);
    const scores = new Float64Array(op.out.width);
    for (let position = 0; position <= last; position++) {
      const key = frame.matrix(cache.keys).read(cellOf(frame, { cache, batch, slot, position }));
      for (let head = 0; head < heads; head++) {
        const product = dot(q.subarray(head * headSize, (head + 1) * headSize), key, 0);
        const at = weights ? position : head * positions + position;
        const added = weights ? (weights[head] as number) * Math.max(0, product) : product;
        scores[at] = (scores[at] as number) + added;
      }
    }
    frame.matrix(op.out).write(row, scores);
  }
}

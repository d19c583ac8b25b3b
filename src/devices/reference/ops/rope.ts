import type { RopeOp } from '../../../ops/index.ts';
import type { Frame } from '../frame.ts';

export function runRope(op: RopeOp, frame: Frame): void {
  for (let row = 0; row < frame.rowsOf(op.out); row++) {
    const values = frame.matrix(op.x).read(row);
    const turns = frame.matrix(op.table).read(row);
    for (let start = 0; start < values.length; start += op.headSize) {
      turnHead(values.subarray(start, start + op.headSize), turns, op.pairs);
    }
    frame.matrix(op.out).write(row, values);
  }
}

function turnHead(head: Float64Array, turns: Float64Array, pairs: RopeOp['pairs']): void {
  const half = turns.length / 2;
  for (let i = 0; i < half; i++) {
    const [first, second] = pairs === 'interleaved' ? [2 * i, 2 * i + 1] : [i, i + half];
    const x = head[first] as number;
    const y = head[second] as number;
    const cos = turns[2 * i] as number;
    const sin = turns[2 * i + 1] as number;
    head[first] = x * cos - y * sin;
    head[second] = x * sin + y * cos;
  }
}

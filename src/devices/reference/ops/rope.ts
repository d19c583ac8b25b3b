import type { RopeOp } from '../../../ops/index.ts';
import type { Frame } from '../frame.ts';

export function runRope(op: RopeOp, frame: Frame): void {
  for (let row = 0; row < frame.rowsOf(op.out); row++) {
    const values = frame.matrix(op.x).read(row);
    const angles = frame.matrix(op.table).read(row);
    for (let start = 0; start < values.length; start += op.headSize) {
      rotateHead(values.subarray(start, start + op.headSize), angles, op.pairs);
    }
    frame.matrix(op.out).write(row, values);
  }
}

function rotateHead(head: Float64Array, angles: Float64Array, pairs: RopeOp['pairs']): void {
  const half = angles.length / 2;
  for (let i = 0; i < half; i++) {
    const [first, second] = pairs === 'interleaved' ? [2 * i, 2 * i + 1] : [i, i + half];
    const x = head[first] as number;
    const y = head[second] as number;
    const cos = angles[2 * i] as number;
    const sin = angles[2 * i + 1] as number;
    head[first] = x * cos - y * sin;
    head[second] = x * sin + y * cos;
  }
}

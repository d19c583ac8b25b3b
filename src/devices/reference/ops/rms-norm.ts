import type { RmsNormOp } from '../../../ops/index.ts';
import type { Frame } from '../frame.ts';
import { dot } from './dot.ts';

export function runRmsNorm(op: RmsNormOp, frame: Frame): void {
  const factors = frame.vector(op.weight);
  for (let row = 0; row < frame.rowsOf(op.out); row++) {
    const values = frame.matrix(op.x).read(row);
    for (let start = 0; start < values.length; start += factors.length) {
      const group = values.subarray(start, start + factors.length);
      const rms = Math.sqrt(dot(group, group) / group.length + op.epsilon);
      group.set(group.map((value, i) => (value / rms) * (factors[i] as number)));
    }
    frame.matrix(op.out).write(row, values);
  }
}

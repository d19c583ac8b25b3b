import type { RmsNormOp, Weight } from '../../../ops/index.ts';
import type { Frame } from '../frame.ts';
import { dot } from './dot.ts';

export function runRmsNorm(op: RmsNormOp, frame: Frame): void {
  const { size, weight } = op;
  const factors = weight ? rowsOf(weight, frame) : [];
  for (let row = 0; row < frame.rowsOf(op.out); row++) {
    const values = frame.matrix(op.x).read(row);
    for (let start = 0; start < values.length; start += size) {
      const group = values.subarray(start, start + size);
      const rms = Math.sqrt(dot(group, group) / size + op.epsilon);
      const own = factors[(start / size) % factors.length];
      group.set(group.map((value, i) => (value / rms) * (own?.[i] ?? 1)));
    }
    frame.matrix(op.out).write(row, values);
  }
}

function rowsOf(weight: Weight, frame: Frame): Float64Array[] {
  return Array.from({ length: weight.rows }, (_, row) => frame.weightRow(weight, row));
}

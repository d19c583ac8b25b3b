import type { MatmulOp } from '../../../ops/index.ts';
import type { Frame } from '../frame.ts';
import { dot } from './dot.ts';

export function runMatmul(op: MatmulOp, frame: Frame): void {
  const rows = frame.rowsOf(op.x);
  const x = Array.from({ length: rows }, (_, row) => frame.matrix(op.x).read(row));
  const out = x.map(() => new Float64Array(op.out.width));
  const bias = op.bias && frame.vector(op.bias);
  for (let n = 0; n < op.weight.rows; n++) {
    const weight = frame.weightRow(op.weight, n);
    for (let row = 0; row < rows; row++) {
      (out[row] as Float64Array)[n] = dot(x[row] as Float64Array, weight) + (bias?.[n] ?? 0);
    }
  }
  out.forEach((values, row) => {
    frame.matrix(op.out).write(row, values);
  });
}

import type { MatmulHeadsOp, MatmulOp } from '../../../ops/index.ts';
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

export function runMatmulHeads({ x, weight, outputs, out }: MatmulHeadsOp, frame: Frame): void {
  const rows = Array.from({ length: frame.rowsOf(x) }, (_, row) => frame.matrix(x).read(row));
  const sums = rows.map(() => new Float64Array(out.width));
  for (let n = 0; n < weight.rows; n++) {
    const line = frame.weightRow(weight, n);
    const first = Math.floor(n / outputs) * weight.columns;
    for (const [row, from] of rows.entries()) {
      (sums[row] as Float64Array)[n] = dot(line, from, first);
    }
  }
  for (const [row, values] of sums.entries()) frame.matrix(out).write(row, values);
}

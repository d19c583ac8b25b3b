import type { BinaryOp } from '../../../ops/index.ts';
import type { Frame } from '../frame.ts';

export function runBinary(op: BinaryOp, frame: Frame): void {
  const { a, b } = op;
  for (let row = 0; row < frame.rowsOf(op.out); row++) {
    const right = b.kind === 'weight' ? frame.vector(b) : frame.matrix(b).read(row);
    const left = frame.matrix(a).read(row);
    const combined = left.map((value, i) => {
      const other = right[Math.floor((i * right.length) / left.length)] as number;
      return op.kind === 'add' ? value + other : value * other;
    });
    frame.matrix(op.out).write(row, combined);
  }
}

import type { UnaryOp } from '../../../ops/index.ts';
import type { Frame } from '../frame.ts';
import { activation } from './activation.ts';

export function runUnary(op: UnaryOp, frame: Frame): void {
  const fn = activation(op.fn);
  for (let row = 0; row < frame.rowsOf(op.out); row++) {
    frame.matrix(op.out).write(
      row,
      frame
        .matrix(op.x)
        .read(row)
        .map((value) => fn(value)),
    );
  }
}

import type { GatedOp } from '../../../ops/index.ts';
import type { Frame } from '../frame.ts';
import { activation } from './activation.ts';

export function runGated(op: GatedOp, frame: Frame): void {
  const fn = activation(op.fn);
  for (let row = 0; row < frame.rowsOf(op.out); row++) {
    const up = frame.matrix(op.up).read(row);
    const gate = frame.matrix(op.gate).read(row);
    const gated = up.map((value, i) => fn(gate[i] as number) * value);
    frame.matrix(op.out).write(row, gated);
  }
}

import { type RopeTableOp, RopeAngles } from '../../../ops/index.ts';
import type { Frame } from '../frame.ts';

export function runRopeTable(op: RopeTableOp, frame: Frame): void {
  const angles = new RopeAngles(op.parameters, op.factors && frame.vector(op.factors));
  const pairs = new Float32Array(op.out.width);
  for (let row = 0; row < frame.rowsOf(op.out); row++) {
    angles.fill(frame.matrix(op.positions).scalar(row), pairs);
    frame.matrix(op.out).write(row, pairs);
  }
}

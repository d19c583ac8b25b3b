import { type RopeTableOp, RopeAngles } from '../../../ops/index.ts';
import type { Frame } from '../frame.ts';

export function runRopeTable(op: RopeTableOp, frame: Frame): void {
  const turns = new RopeAngles(op.parameters, op.factors && frame.vector(op.factors));
  const turned = new Float32Array(op.out.width);
  for (let row = 0; row < frame.rowsOf(op.out); row++) {
    turns.fill(frame.matrix(op.positions).scalar(row), turned);
    frame.matrix(op.out).write(row, turned);
  }
}

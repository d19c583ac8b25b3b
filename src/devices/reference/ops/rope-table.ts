import { type RopeTableOp, RopeTurns } from '../../../ops/index.ts';
import type { Frame } from '../frame.ts';

/** See `RopeTableOp`. */
export function runRopeTable(op: RopeTableOp, frame: Frame): void {
  const turns = new RopeTurns(op.parameters, op.factors && frame.vector(op.factors));
  const row = new Float32Array(op.out.width);
  for (let r = 0; r < frame.rowsOf(op.out); r++) {
    turns.fill(frame.matrix(op.positions).scalar(r), row);
    frame.matrix(op.out).write(r, row);
  }
}

import type { GatherRowsOp } from '../../../ops/index.ts';
import type { Frame } from '../frame.ts';

export function runGatherRows(op: GatherRowsOp, frame: Frame): void {
  for (let output = 0; output < frame.rowsOf(op.out); output++) {
    frame.matrix(op.out).write(output, frame.matrix(op.x).read(frame.matrix(op.index).scalar(output)));
  }
}

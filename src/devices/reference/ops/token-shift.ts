import type { TokenShiftOp } from '../../../ops/index.ts';
import type { Frame } from '../frame.ts';

export function runTokenShift({ x, last, batch, out }: TokenShiftOp, frame: Frame): void {
  for (let row = 0; row < frame.rowsOf(out); row++) {
    const slot = frame.matrix(batch.slots).scalar(row);
    const begins = frame.matrix(batch.positions).scalar(row) === 0;
    frame.matrix(out).write(row, begins ? new Float64Array(x.width) : frame.matrix(last).read(slot));
    frame.matrix(last).write(slot, frame.matrix(x).read(row));
  }
}

import type { TokenAppendOp } from '../../../ops/index.ts';
import type { Frame } from '../frame.ts';

export function runTokenAppend({ history, batch }: TokenAppendOp, frame: Frame): void {
  for (let row = 0; row < frame.rowsOf(batch.ids); row++) {
    const slot = frame.matrix(batch.slots).scalar(row);
    const tokens = frame.matrix(history).read(slot);
    tokens[frame.matrix(batch.positions).scalar(row)] = frame.matrix(batch.ids).scalar(row);
    frame.matrix(history).write(slot, tokens);
  }
}

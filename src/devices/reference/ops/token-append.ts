import type { TokenAppendOp } from '../../../ops/index.ts';
import type { Frame } from '../frame.ts';

export function runTokenAppend(op: TokenAppendOp, frame: Frame): void {
  const { history, batch, out } = op;
  for (let row = 0; row < frame.rowsOf(batch.ids); row++) {
    const given = frame.matrix(batch.ids).scalar(row);
    const id = given < 0 ? sampled(op, -1 - given, frame) : given;
    frame.matrix(out).write(row, [id]);
    const slot = frame.matrix(batch.slots).scalar(row);
    const noted = frame.matrix(history).read(slot);
    noted[frame.matrix(batch.positions).scalar(row)] = id;
    frame.matrix(history).write(slot, noted);
  }
}

function sampled({ tokens }: TokenAppendOp, index: number, frame: Frame): number {
  return index < tokens.rows ? frame.matrix(tokens).scalar(index) : -1;
}

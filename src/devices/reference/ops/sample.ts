import { type SampleOp, SamplingScratch, sampleRow } from '../../../ops/index.ts';
import type { Frame } from '../frame.ts';

export function runSample(op: SampleOp, frame: Frame): void {
  const scratch = new SamplingScratch(op.logits.width);
  for (let output = 0; output < frame.rowsOf(op.tokens); output++) {
    const row = frame.matrix(op.batch.outputRows).scalar(output);
    const slot = frame.matrix(op.batch.slots).scalar(row);
    const report = Float32Array.from(frame.matrix(op.report).read(output));
    const token = sampleRow({
      logits: Float32Array.from(frame.matrix(op.logits).read(output)),
      row: Int32Array.from(frame.matrix(op.parameters).read(output)),
      history: Int32Array.from(frame.matrix(op.history).read(slot)),
      mask: Int32Array.from(frame.matrix(op.masks).read(slot)),
      position: frame.matrix(op.batch.positions).scalar(row),
      scratch,
      report,
    });
    frame.matrix(op.tokens).write(output, [token]);
    frame.matrix(op.report).write(output, report);
  }
}

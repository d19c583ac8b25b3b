import type { CausalConvOp } from '../../../ops/index.ts';
import type { Frame } from '../frame.ts';
import { activation } from './activation.ts';

export function runCausalConv({ x, weight, bias, fn, last, batch, out }: CausalConvOp, frame: Frame): void {
  const { width } = x;
  const taps = Array.from({ length: width }, (_, column) => frame.weightRow(weight, column));
  const terms = bias ? frame.vector(bias) : new Float64Array(width);
  for (let row = 0; row < frame.rowsOf(out); row++) {
    const slot = frame.matrix(batch.slots).scalar(row);
    const begins = frame.matrix(batch.positions).scalar(row) === 0;
    const before = begins ? new Float64Array(last.width) : frame.matrix(last).read(slot);
    // The rows that the taps cover, the current one last.
    const seen = new Float64Array(last.width + width);
    seen.set(before);
    seen.set(frame.matrix(x).read(row), last.width);
    const result = terms.map((term, column) =>
      (taps[column] as Float64Array).reduce(
        (sum, tap, t) => sum + tap * (seen[t * width + column] as number),
        term,
      ),
    );
    frame.matrix(out).write(row, fn ? result.map(activation(fn)) : result);
    frame.matrix(last).write(slot, seen.subarray(width));
  }
}

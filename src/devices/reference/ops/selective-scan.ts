import type { SelectiveScanOp, Weight } from '../../../ops/index.ts';
import type { Frame } from '../frame.ts';
import { dot } from './dot.ts';

export function runSelectiveScan(op: SelectiveScanOp, frame: Frame): void {
  const { heads, headSize, stateSize, groups, state, batch, out } = op;
  const { a } = op;
  const rates = a && Array.from({ length: heads }, (_, head) => frame.weightRow(a, head));
  const skips = op.d ? allOf(op.d, frame) : [];
  for (let row = 0; row < frame.rowsOf(out); row++) {
    const slot = frame.matrix(batch.slots).scalar(row);
    const begins = frame.matrix(batch.positions).scalar(row) === 0;
    const matrices = begins ? new Float64Array(state.width) : frame.matrix(state).read(slot);
    const [x, change, b, c] = [op.x, op.dt ?? op.decay, op.b, op.c].map((of) =>
      frame.matrix(of).read(row),
    ) as Rows;
    const result = new Float64Array(out.width);
    for (let head = 0; head < heads; head++) {
      const step = rates ? (change[head] as number) : 1;
      const first = Math.floor((head * groups) / heads) * stateSize;
      const [written, read] = [b, c].map((of) => of.subarray(first, first + stateSize)) as [
        Float64Array,
        Float64Array,
      ];
      const rate = rates?.[head];
      const decay = rate
        ? written.map((_, n) => Math.exp(step * (rate[n % rate.length] as number)))
        : change.subarray(first, first + stateSize);
      for (let i = head * headSize; i < (head + 1) * headSize; i++) {
        const line = matrices.subarray(i * stateSize, (i + 1) * stateSize);
        const added = step * (x[i] as number);
        line.forEach((value, n) => (line[n] = value * (decay[n] as number) + added * (written[n] as number)));
        result[i] = dot(line, read) + (skips[head] ?? 0) * (x[i] as number);
      }
    }
    frame.matrix(state).write(slot, matrices);
    frame.matrix(out).write(row, result);
  }
}

type Rows = [x: Float64Array, change: Float64Array, b: Float64Array, c: Float64Array];

/** All values of a weight, in row order. */
function allOf(weight: Weight, frame: Frame): number[] {
  return Array.from({ length: weight.rows }, (_, row) => [...frame.weightRow(weight, row)]).flat();
}

import type { Wkv7Op, WkvBonusOp } from '../../../ops/index.ts';
import type { Frame } from '../frame.ts';
import { dot } from './dot.ts';

export function runWkv7(op: Wkv7Op, frame: Frame): void {
  const { batch, state, headSize, out } = op;
  for (let row = 0; row < frame.rowsOf(out); row++) {
    const slot = frame.matrix(batch.slots).scalar(row);
    const begins = frame.matrix(batch.positions).scalar(row) === 0;
    const matrices = begins ? new Float64Array(state.width) : frame.matrix(state).read(slot);
    const result = new Float64Array(out.width);
    for (let head = 0; head < out.width; head += headSize) {
      const part = (of: Wkv7Op['r']) =>
        frame
          .matrix(of)
          .read(row)
          .subarray(head, head + headSize);
      const [r, w, k, v, kk, a] = [op.r, op.w, op.k, op.v, op.kk, op.a].map(part) as [
        Float64Array,
        Float64Array,
        Float64Array,
        Float64Array,
        Float64Array,
        Float64Array,
      ];
      for (let i = 0; i < headSize; i++) {
        const start = (head + i) * headSize;
        const line = matrices.subarray(start, start + headSize);
        const removed = -dot(kk, line);
        const value = v[i] as number;
        for (let j = 0; j < headSize; j++) {
          const added = removed * (kk[j] as number) * (a[j] as number) + value * (k[j] as number);
          line[j] = (line[j] as number) * (w[j] as number) + added;
        }
        result[head + i] = dot(r, line);
      }
    }
    frame.matrix(state).write(slot, matrices);
    frame.matrix(out).write(row, result);
  }
}

export function runWkvBonus(op: WkvBonusOp, frame: Frame): void {
  const { headSize, out } = op;
  const weight = Array.from({ length: op.weight.rows }, (_, row) => [
    ...frame.weightRow(op.weight, row),
  ]).flat();
  for (let row = 0; row < frame.rowsOf(out); row++) {
    const r = frame.matrix(op.r).read(row);
    const weighted = frame
      .matrix(op.k)
      .read(row)
      .map((value, i) => value * (weight[i] as number));
    const v = frame.matrix(op.v).read(row);
    for (let head = 0; head < out.width; head += headSize) {
      const sum = dot(r.subarray(head, head + headSize), weighted, head);
      for (let i = head; i < head + headSize; i++) v[i] = (v[i] as number) * sum;
    }
    frame.matrix(out).write(row, v);
  }
}

import type { LerpOp } from '../../../ops/index.ts';
import type { Frame } from '../frame.ts';

export function runLerp({ a, b, t, row: of, out }: LerpOp, frame: Frame): void {
  for (let row = 0; row < frame.rowsOf(out); row++) {
    const share = t.kind === 'weight' ? frame.weightRow(t, of) : frame.matrix(t).read(row);
    const to = frame.matrix(b).read(row);
    const from = frame.matrix(a).read(row);
    const between = from.map((value, i) => value + ((to[i] as number) - value) * (share[i] as number));
    frame.matrix(out).write(row, between);
  }
}

import type { GaussianTopKOp } from '../../../ops/index.ts';
import type { Frame } from '../frame.ts';
import { dot } from './dot.ts';

export function runGaussianTopK({ x, deviations, out }: GaussianTopKOp, frame: Frame): void {
  for (let row = 0; row < frame.rowsOf(out); row++) {
    const values = frame.matrix(x).read(row);
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const centred = values.map((value) => value - mean);
    const threshold = deviations * Math.sqrt(dot(centred, centred) / (values.length - 1));
    frame.matrix(out).write(
      row,
      centred.map((value) => Math.max(value - threshold, 0)),
    );
  }
}

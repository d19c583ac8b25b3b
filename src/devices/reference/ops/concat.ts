import type { ConcatOp } from '../../../ops/index.ts';
import type { Frame } from '../frame.ts';

export function runConcat({ a, b, aPart, bPart, out }: ConcatOp, frame: Frame): void {
  const whole = aPart + bPart;
  for (let row = 0; row < frame.rowsOf(out); row++) {
    const [left, right] = [frame.matrix(a).read(row), frame.matrix(b).read(row)];
    const picked = Float64Array.from({ length: out.width }, (_, i) => {
      const [part, column] = [Math.floor(i / whole), i % whole];
      const from =
        column < aPart ? left[part * aPart + column] : right[(part * bPart + column - aPart) % b.width];
      return from as number;
    });
    frame.matrix(out).write(row, picked);
  }
}

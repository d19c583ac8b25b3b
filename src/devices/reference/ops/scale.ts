import type { ClampOp, ScaleOp } from '../../../ops/index.ts';
import type { Frame } from '../frame.ts';

export function runScale(op: ScaleOp, frame: Frame): void {
  for (let row = 0; row < frame.rowsOf(op.out); row++) {
    const scaled = frame
      .matrix(op.x)
      .read(row)
      .map((value) => op.factor * value);
    frame.matrix(op.out).write(row, scaled);
  }
}

export function runClamp({ x, low, high, out }: ClampOp, frame: Frame): void {
  for (let row = 0; row < frame.rowsOf(out); row++) {
    const values = frame.matrix(x).read(row);
    const clamped = values.map((value) => Math.min(Math.max(value, low), high));
    frame.matrix(out).write(row, clamped);
  }
}

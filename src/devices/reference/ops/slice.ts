import type { SliceOp } from '../../../ops/index.ts';
import type { Frame } from '../frame.ts';

export function runSlice({ x, offset, segmentWidth, stride, out }: SliceOp, frame: Frame): void {
  for (let row = 0; row < frame.rowsOf(out); row++) {
    const from = frame.matrix(x).read(row);
    const columnOf = (_: unknown, i: number) =>
      offset + Math.floor(i / segmentWidth) * stride + (i % segmentWidth);
    const picked = Float64Array.from({ length: out.width }, columnOf).map((column) => from[column] as number);
    frame.matrix(out).write(row, picked);
  }
}

import type { SliceOp } from '../../../ops/index.ts';
import type { Frame } from '../frame.ts';

export function runSlice({ x, first, out }: SliceOp, frame: Frame): void {
  for (let row = 0; row < frame.rowsOf(out); row++) {
    frame.matrix(out).write(
      row,
      frame
        .matrix(x)
        .read(row)
        .subarray(first, first + out.width),
    );
  }
}

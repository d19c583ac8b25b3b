import { type Cost, rowwiseCost } from './cost.ts';
import type { Recorder } from './recorder.ts';
import type { Tensor } from './value.ts';

/** `out[r, i] = x[r, first + i]`: a part of each row, of matrices that files hold fused (query, key and value; gate and up). */
export interface SliceOp {
  readonly kind: 'slice';
  readonly x: Tensor;
  readonly first: number;
  readonly out: Tensor;
}

/** Takes `width` columns of `x` from column `first` on: f32 [x.axis, width]. */
export function slice(g: Recorder<SliceOp>, x: Tensor, of: { first: number; width: number }): Tensor {
  const { first, width } = of;
  g.require(x.type === 'f32', `${x.name} holds f32`);
  g.require(
    Number.isSafeInteger(first) && first >= 0 && first + width <= x.width,
    `columns ${first} to ${first + width} lie within ${x.width}`,
  );
  const out = g.temp('slice', { axis: x.axis, width });
  g.push({ kind: 'slice', x, first, out });
  return out;
}

/** Reads and writes each picked value once. */
export function sliceCost(op: SliceOp, rows: number): Cost {
  return rowwiseCost(rows, 2 * op.out.width, 0);
}

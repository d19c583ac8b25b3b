import { type Cost, rowwiseCost } from './cost.ts';
import type { Recorder } from './recorder.ts';
import type { Tensor } from './value.ts';

/**
 * `out[r, i] = x[r, first + floor(i / part) * every + i % part]`: a slice of each row, for matrices that files store
 * fused (query, key and value; gate and up), or one slice of each `every` columns if they are fused head by head.
 */
export interface SliceOp {
  readonly kind: 'slice';
  readonly x: Tensor;
  readonly first: number;
  /** Number of contiguous columns: all of `out`, except for slices of each head. */
  readonly part: number;
  readonly every: number;
  readonly out: Tensor;
}

/** Takes `width` columns of `x` from column `first` on, or `part` columns out of each `every`: f32 [x.axis, width]. */
export function slice(
  g: Recorder<SliceOp>,
  x: Tensor,
  of: { first: number; width: number; part?: number; every?: number },
): Tensor {
  const { first, width, part = width, every = x.width } = of;
  g.require(x.type === 'f32', `${x.name} holds f32`);
  g.require(width % part === 0 && part <= every, `parts of ${part} in ${every} columns make ${width}`);
  const end = first + (width / part - 1) * every + part;
  g.require(
    Number.isSafeInteger(first) && first >= 0 && end <= x.width,
    `columns ${first} to ${end} lie within ${x.width}`,
  );
  const out = g.temp('slice', { axis: x.axis, width });
  g.push({ kind: 'slice', x, first, part, every, out });
  return out;
}

/** Reads and writes each picked value once. */
export function sliceCost(op: SliceOp, rows: number): Cost {
  return rowwiseCost(rows, 2 * op.out.width, 0);
}

import { type Cost, rowwiseCost } from './cost.ts';
import type { Recorder } from './recorder.ts';
import type { Tensor } from './value.ts';

/**
 * `out[r, i] = x[r, offset + floor(i / segmentWidth) * stride + i % segmentWidth]`: a slice of each row, for matrices that files store
 * fused (query, key and value; gate and up), or one slice of each `stride` columns if they are fused head by head.
 */
export interface SliceOp {
  readonly kind: 'slice';
  readonly x: Tensor;
  /** The first column. */
  readonly offset: number;
  /** Number of contiguous columns: all of `out`, except for slices of each head. */
  readonly segmentWidth: number;
  /** Columns from the start of one segment to the start of the next. */
  readonly stride: number;
  readonly out: Tensor;
}

/** Takes `width` columns of `x` from column `offset` on, or `segmentWidth` columns out of each `stride`: f32 [x.axis, width]. */
export function slice(
  g: Recorder<SliceOp>,
  x: Tensor,
  of: { offset: number; width: number; segmentWidth?: number; stride?: number },
): Tensor {
  const { offset, width, segmentWidth = width, stride = x.width } = of;
  g.require(x.type === 'f32', `${x.name} holds f32`);
  g.require(
    width % segmentWidth === 0 && segmentWidth <= stride,
    `segments of ${segmentWidth} in ${stride} columns make ${width}`,
  );
  const end = offset + (width / segmentWidth - 1) * stride + segmentWidth;
  g.require(
    Number.isSafeInteger(offset) && offset >= 0 && end <= x.width,
    `columns ${offset} to ${end} lie within ${x.width}`,
  );
  const out = g.temp('slice', { axis: x.axis, width });
  g.push({ kind: 'slice', x, offset, segmentWidth, stride, out });
  return out;
}

/** Reads and writes each picked value once. */
export function sliceCost(op: SliceOp, rows: number): Cost {
  return rowwiseCost(rows, 2 * op.out.width, 0);
}

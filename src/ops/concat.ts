import { type Cost, rowwiseCost } from './cost.ts';
import type { Recorder } from './recorder.ts';
import type { Tensor } from './value.ts';

/**
 * `out[r] = a[r, 0], b[r, 0], a[r, 1], b[r, 1], ...`: each part of a row of `a` with the one of `b` behind it, as heads have what is
 * rotated behind what is not (DeepSeek-V2). Where `b` has one part only, it stands behind every part of `a`.
 */
export interface ConcatOp {
  readonly kind: 'concat';
  readonly a: Tensor;
  readonly b: Tensor;
  /** Columns of a part of `a`, and of one of `b`. */
  readonly aPart: number;
  readonly bPart: number;
  readonly out: Tensor;
}

/** Puts parts of `bPart` columns behind parts of `aPart`: f32 [a.axis, a.width / aPart * (aPart + bPart)]. */
export function concat(
  g: Recorder<ConcatOp>,
  a: Tensor,
  b: Tensor,
  { aPart, bPart }: { readonly aPart: number; readonly bPart: number },
): Tensor {
  g.require(a.type === 'f32' && b.type === 'f32' && a.axis === b.axis, 'rows of f32 stand side by side');
  const parts = a.width / aPart;
  g.require(Number.isInteger(parts), `parts of ${aPart} divide ${a.width} columns evenly`);
  g.require(
    b.width === bPart || b.width === parts * bPart,
    `${b.name} has one part of ${bPart} columns, or one for each of ${parts}`,
  );
  const out = g.temp('concat', { axis: a.axis, width: parts * (aPart + bPart) });
  g.push({ kind: 'concat', a, b, aPart, bPart, out });
  return out;
}

/** Reads each operand once and writes the result once. */
export function concatCost({ a, b, out }: ConcatOp, rows: number): Cost {
  return rowwiseCost(rows, a.width + b.width + out.width, 0);
}

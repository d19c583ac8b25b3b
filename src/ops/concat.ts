import { type Cost, rowwiseCost } from './cost.ts';
import type { Recorder } from './recorder.ts';
import type { Tensor } from './value.ts';

/**
 * `out[r] = a[r, 0], b[r, 0], a[r, 1], b[r, 1], ...`: each part of a row of `a` followed by the corresponding part of
 * `b`, e.g. the part of each head that is not rotated followed by the rotated part (DeepSeek-V2). If `b` has only one
 * part, it follows every part of `a`.
 */
export interface ConcatOp {
  readonly kind: 'concat';
  readonly a: Tensor;
  readonly b: Tensor;
  /** Columns of a part of `a`, and of a part of `b`. */
  readonly aPart: number;
  readonly bPart: number;
  readonly out: Tensor;
}

/**
 * Interleaves parts of `aPart` columns with parts of `bPart` columns: f32 [a.axis, a.width / aPart * (aPart + bPart)].
 */
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

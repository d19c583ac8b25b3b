import { type Cost, rowwiseCost } from './cost.ts';
import type { Recorder } from './recorder.ts';
import type { Tensor, Weight } from './value.ts';

/** `out = a + (b - a) * t`, elementwise; with a weight as `t`, its row `row` is used for every row. */
export interface LerpOp {
  readonly kind: 'lerp';
  readonly a: Tensor;
  readonly b: Tensor;
  readonly t: Tensor | Weight;
  readonly row: number;
  readonly out: Tensor;
}

/** Interpolates between `a` and `b`: [a.axis, a.width]. */
export function lerp(
  g: Recorder<LerpOp>,
  a: Tensor,
  b: Tensor,
  of: { readonly t: Tensor | Weight; readonly row?: number },
): Tensor {
  const { t, row = 0 } = of;
  g.require(a.axis === b.axis && a.width === b.width, `${a.name} and ${b.name} have one shape`);
  const fits =
    t.kind === 'weight'
      ? t.columns === a.width && row >= 0 && row < t.rows
      : t.axis === a.axis && t.width === a.width && row === 0;
  g.require(fits, `${t.name} has a share for each value of ${a.name}`);
  const out = g.temp('lerp', { axis: a.axis, width: a.width });
  g.push({ kind: 'lerp', a, b, t, row, out });
  return out;
}

/** Reads each operand and writes the result once. */
export function lerpCost(op: LerpOp, rows: number): Cost {
  return rowwiseCost(rows, 4 * op.out.width, 3 * op.out.width);
}

import type { BinaryOp, ClampOp, GatedOp, ScaleOp, Tensor, UnaryOp } from '../../../ops/index.ts';
import {
  binaryText,
  CLAMP,
  ELEMENTWISE,
  GATED,
  GATED_BY_ITSELF,
  SCALE,
  UNARY,
} from '../kernels/elementwise.ts';
import { activationText, FUNCTIONS, gatedText } from '../kernels/library/functions.ts';
import { GRID } from '../kernels/library/grid.ts';
import type { Constant } from '../launching/kernel-module.ts';
import { lineGrid } from './line-grid.ts';
import { type Argument, read, write } from './launch-plan.ts';
import type { Lowering } from './lowering.ts';
import { FLOAT_LAYOUT } from './weight-layout.ts';

/** Launches a text that computes an element's value, over all elements of a result. */
export function launchElementwise(
  to: Lowering,
  name: string,
  of: {
    texts: readonly string[];
    args: Readonly<Record<string, Argument>>;
    out: Tensor;
    constants?: Readonly<Record<string, Constant>>;
  },
): void {
  const { out, texts, args, constants } = of;
  const { threads } = to.target;
  to.launch({
    name,
    texts: [GRID, ELEMENTWISE, ...texts],
    constants: { THREADS: threads, COUNT: to.countOf(out), WIDTH: out.width, ...constants },
    args: { counts: to.counts, ...args, y: write(out) },
    grid: lineGrid(to, Math.ceil((to.capacity(out) * out.width) / threads)),
  });
}

/** `add` and `mul`. */
export function lowerBinary({ kind, a, b, out }: BinaryOp, to: Lowering): void {
  if (a === b) {
    launchElementwise(to, kind, { texts: [binaryText(kind, 'same')], args: { a: read(a) }, out });
    return;
  }
  if (b.kind === 'weight') {
    const right = b.columns === 1 ? 'one' : b.columns === out.width ? 'row' : 'partOfRow';
    launchElementwise(to, kind, {
      texts: [binaryText(kind, right)],
      args: { a: read(a), b: to.vector(b, FLOAT_LAYOUT) },
      out,
      constants: right === 'partOfRow' ? { PART: out.width / b.columns } : {},
    });
    return;
  }
  const args = { a: read(a), b: read(b) };
  const isPart = b.width !== out.width;
  const constants = isPart ? { PART: out.width / b.width } : {};
  launchElementwise(to, kind, {
    texts: [binaryText(kind, isPart ? 'part' : 'tensor')],
    args,
    out,
    constants,
  });
}

export function lowerScale({ x, factor, out }: ScaleOp, to: Lowering): void {
  const constants = { FACTOR: { f32: factor } };
  launchElementwise(to, 'scale', { texts: [SCALE], args: { x: read(x) }, out, constants });
}

export function lowerClamp({ x, low, high, out }: ClampOp, to: Lowering): void {
  const constants = { LOW: { f32: low }, HIGH: { f32: high } };
  launchElementwise(to, 'clamp', { texts: [CLAMP], args: { x: read(x) }, out, constants });
}

export function lowerUnary({ fn, x, out }: UnaryOp, to: Lowering): void {
  const texts = [FUNCTIONS, activationText(fn), UNARY];
  launchElementwise(to, fn, { texts, args: { x: read(x) }, out });
}

export function lowerGated({ fn, gate, up, out }: GatedOp, to: Lowering): void {
  const same = gate === up;
  const texts = [FUNCTIONS, gatedText(fn), same ? GATED_BY_ITSELF : GATED];
  const args = same ? { gate: read(gate) } : { gate: read(gate), up: read(up) };
  launchElementwise(to, 'gated', { texts, args, out });
}

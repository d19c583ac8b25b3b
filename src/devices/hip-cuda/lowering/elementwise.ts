import {
  type BinaryOp,
  type ClampOp,
  GATED_FUNCTIONS,
  type GatedFunction,
  type GatedOp,
  type ScaleOp,
  type UnaryOp,
} from '../../../ops/index.ts';
import { float, int } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { FLOAT_LAYOUT } from './weight-layout.ts';

const THREADS = 256;

/** The code of an activation in kernels. */
export function activationCode(fn: GatedFunction): number {
  return GATED_FUNCTIONS.indexOf(fn);
}

function blocksOf(to: Lowering, out: BinaryOp['out']): number {
  return Math.ceil((to.capacity(out) * out.width) / THREADS);
}

/** `add` and `mul`. */
export function lowerBinary(op: BinaryOp, to: Lowering): void {
  const { a, b, out } = op;
  const right = b.kind === 'weight' ? to.weight([b], FLOAT_LAYOUT) : b;
  const width = b.kind === 'weight' ? b.columns : b.width;
  to.launch({
    file: 'elementwise.hip',
    kernel: `${op.kind}_rows`,
    grid: [blocksOf(to, out)],
    block: THREADS,
    args: [to.count(out), a, right, out, int(out.width), int(b.kind === 'weight' ? 0 : 1), int(width)],
  });
}

export function lowerScale({ x, factor, out }: ScaleOp, to: Lowering): void {
  to.launch({
    file: 'elementwise.hip',
    kernel: 'scale_rows',
    grid: [blocksOf(to, out)],
    block: THREADS,
    args: [to.count(out), x, out, int(out.width), float(factor)],
  });
}

export function lowerClamp({ x, low, high, out }: ClampOp, to: Lowering): void {
  to.launch({
    file: 'elementwise.hip',
    kernel: 'clamp_rows',
    grid: [blocksOf(to, out)],
    block: THREADS,
    args: [to.count(out), x, out, int(out.width), float(low), float(high)],
  });
}

export function lowerUnary({ fn, x, out }: UnaryOp, to: Lowering): void {
  to.launch({
    file: 'unary.hip',
    kernel: 'unary_rows',
    defines: { ACTIVATION: activationCode(fn) },
    grid: [blocksOf(to, out)],
    block: THREADS,
    args: [to.count(out), x, out, int(out.width)],
  });
}

export function lowerGated({ fn, gate, up, out }: GatedOp, to: Lowering): void {
  to.launch({
    file: 'unary.hip',
    kernel: 'gated_rows',
    defines: { ACTIVATION: activationCode(fn) },
    grid: [blocksOf(to, out)],
    block: THREADS,
    args: [to.count(out), gate, up, out, int(out.width)],
  });
}

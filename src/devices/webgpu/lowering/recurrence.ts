import type {
  ConcatOp,
  GroupNormOp,
  HadamardOp,
  L2NormOp,
  LerpOp,
  SliceOp,
  TokenShiftOp,
  WkvBonusOp,
} from '../../../ops/index.ts';
import { reduceText } from '../kernels/library/reduce.ts';
import {
  concatText,
  GROUP_NORM,
  HADAMARD,
  L2_NORM,
  lerpText,
  SLICE,
  TOKEN_SHIFT,
  WKV_BONUS,
} from '../kernels/recurrence.ts';
import { launchElementwise } from './elementwise.ts';
import { read, write } from './launch-plan.ts';
import type { Lowering } from './lowering.ts';
import { FLOAT_LAYOUT } from './weight-layout.ts';

export function lowerSlice({ x, offset, segmentWidth, stride, out }: SliceOp, to: Lowering): void {
  const constants = { FIRST: offset, PART: segmentWidth, EVERY: stride, SOURCE_WIDTH: x.width };
  launchElementwise(to, 'slice', { texts: [SLICE], args: { x: read(x) }, out, constants });
}

export function lowerConcat({ a, b, aPart, bPart, out }: ConcatOp, to: Lowering): void {
  const same = a === b;
  const args = same ? { a: read(a) } : { a: read(a), b: read(b) };
  const constants = { A_WIDTH: a.width, A_PART: aPart, B_WIDTH: b.width, B_PART: bPart };
  launchElementwise(to, 'concat', { texts: [concatText(same)], args, out, constants });
}

export function lowerLerp({ a, b, t, row, out }: LerpOp, to: Lowering): void {
  const same = a === b;
  const text = lerpText(t.kind === 'weight' ? 'row' : 'tensor', same);
  const weights = t.kind === 'weight' ? to.vector(t, FLOAT_LAYOUT) : read(t);
  const args = same ? { a: read(a), t: weights } : { a: read(a), b: read(b), t: weights };
  launchElementwise(to, 'lerp', { texts: [text], args, out, constants: { T_OFFSET: row * out.width } });
}

export function lowerTokenShift({ x, last, batch, out }: TokenShiftOp, to: Lowering): void {
  const { threads } = to.target;
  to.launch({
    name: 'token_shift',
    texts: [TOKEN_SHIFT],
    constants: { THREADS: threads, WIDTH: out.width },
    args: {
      counts: to.counts,
      slots: to.index(batch.slots),
      positions: to.index(batch.positions),
      x: read(x),
      last: write(last),
      y: write(out),
    },
    grid: [Math.ceil(out.width / threads)],
  });
}

export function lowerWkvBonus({ r, k, v, weight, headSize, out }: WkvBonusOp, to: Lowering): void {
  const { threads } = to.target;
  to.launch({
    name: 'wkv_bonus',
    texts: [WKV_BONUS, reduceText(to.target, { team: threads, threads })],
    constants: { THREADS: threads, COUNT: to.countOf(out), WIDTH: out.width, SIZE: headSize },
    args: {
      counts: to.counts,
      r: read(r),
      k: read(k),
      v: read(v),
      weight: to.vector(weight, FLOAT_LAYOUT),
      y: write(out),
    },
    grid: [to.capacity(out), out.width / headSize],
  });
}

export function lowerGroupNorm({ x, size, weight, bias, epsilon, out }: GroupNormOp, to: Lowering): void {
  const { threads } = to.target;
  const constants = { WIDTH: out.width, SIZE: size, EPSILON: { f32: epsilon } };
  to.launch({
    name: 'group_norm',
    texts: [GROUP_NORM, reduceText(to.target, { team: threads, threads })],
    constants: { THREADS: threads, COUNT: to.countOf(out), ...constants },
    args: {
      counts: to.counts,
      x: read(x),
      norm_weight: to.vector(weight, FLOAT_LAYOUT),
      bias: to.vector(bias, FLOAT_LAYOUT),
      y: write(out),
    },
    grid: [to.capacity(out), out.width / size],
  });
}

/** Columns of a row that a workgroup rotates; groups divide them. */
const HADAMARD_COLUMNS = 128;

export function lowerHadamard({ x, size, out }: HadamardOp, to: Lowering): void {
  to.launch({
    name: 'hadamard',
    texts: [HADAMARD],
    constants: { COUNT: to.countOf(out), WIDTH: out.width, SIZE: size, SCALE: { f32: 1 / Math.sqrt(size) } },
    args: { counts: to.counts, x: read(x), y: write(out) },
    grid: [to.capacity(out), Math.ceil(out.width / HADAMARD_COLUMNS)],
  });
}

export function lowerL2Norm({ x, by, size, epsilon, out }: L2NormOp, to: Lowering): void {
  const { threads } = to.target;
  const constants = { WIDTH: out.width, SIZE: size, EPSILON: { f32: epsilon }, BY_MEAN: by === 'rms' };
  to.launch({
    name: 'l2_norm',
    texts: [L2_NORM, reduceText(to.target, { team: threads, threads })],
    constants: { THREADS: threads, COUNT: to.countOf(out), ...constants },
    args: { counts: to.counts, x: read(x), y: write(out) },
    grid: [to.capacity(out), out.width / size],
  });
}

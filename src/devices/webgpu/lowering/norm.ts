import type { NormResidualIntent } from '../../../device/index.ts';
import type { GaussianTopKOp, LayerNormOp, RmsNormOp, Tensor } from '../../../ops/index.ts';
import { reduceText } from '../kernels/library/reduce.ts';
import { GAUSSIAN_TOP_K, LAYER_NORM, rmsNormText, WITH_BIAS, WITHOUT_BIAS } from '../kernels/norm.ts';
import { read, write } from './launch-plan.ts';
import type { Lowering } from './lowering.ts';
import { FLOAT_LAYOUT } from './weight-layout.ts';

/** A norm and the addition of another tensor to its result. */
export function emitNormResidual({ op, addend, y }: NormResidualIntent, to: Lowering): void {
  launchRmsNorm(op, { addend, y }, to);
}

export function lowerRmsNorm(op: RmsNormOp, to: Lowering): void {
  launchRmsNorm(op, { addend: undefined, y: op.out }, to);
}

/** A norm, and what is added to its result. */
function launchRmsNorm(
  { x, size, weight, epsilon, out }: RmsNormOp,
  { addend, y }: { readonly addend: Tensor | undefined; readonly y: Tensor },
  to: Lowering,
): void {
  const { threads } = to.target;
  const rows = weight ? (weight.rows === 1 ? 'shared' : 'by group') : 'none';
  to.launch({
    name: addend ? 'rms_norm_residual' : 'rms_norm',
    texts: [
      rmsNormText({ addend: addend !== undefined, weight: rows }),
      reduceText(to.target, { team: threads, threads }),
    ],
    constants: {
      THREADS: threads,
      COUNT: to.countOf(out),
      WIDTH: out.width,
      GROUP: size,
      EPSILON: { f32: epsilon },
    },
    args: {
      counts: to.counts,
      x: read(x),
      ...(weight && { norm_weight: to.vector(weight, FLOAT_LAYOUT) }),
      ...(addend ? { addend: read(addend) } : {}),
      y: write(y),
    },
    grid: [to.capacity(out), out.width / size],
  });
}

export function lowerGaussianTopK({ x, deviations, out }: GaussianTopKOp, to: Lowering): void {
  const { threads } = to.target;
  to.launch({
    name: 'gaussian_top_k',
    texts: [GAUSSIAN_TOP_K, reduceText(to.target, { team: threads, threads })],
    constants: {
      THREADS: threads,
      COUNT: to.countOf(out),
      WIDTH: out.width,
      DEVIATIONS: { f32: deviations },
    },
    args: { counts: to.counts, x: read(x), y: write(out) },
    grid: [to.capacity(out)],
  });
}

export function lowerLayerNorm({ x, weight, bias, epsilon, out }: LayerNormOp, to: Lowering): void {
  const { threads } = to.target;
  to.launch({
    name: 'layer_norm',
    texts: [LAYER_NORM, bias ? WITH_BIAS : WITHOUT_BIAS, reduceText(to.target, { team: threads, threads })],
    constants: {
      THREADS: threads,
      COUNT: to.countOf(out),
      WIDTH: out.width,
      EPSILON: { f32: epsilon },
    },
    args: {
      counts: to.counts,
      x: read(x),
      norm_weight: to.vector(weight, FLOAT_LAYOUT),
      ...(bias ? { bias: to.vector(bias, FLOAT_LAYOUT) } : {}),
      y: write(out),
    },
    grid: [to.capacity(out)],
  });
}

import type { GatedNormIntent, NormResidualIntent } from '../../../device/index.ts';
import type { GaussianTopKOp, LayerNormOp, RmsNormOp, Tensor } from '../../../ops/index.ts';
import { activationCode } from './elementwise.ts';
import { halfDefines } from './epilogue.ts';
import type { Operand } from './launch-plan.ts';
import { float, int, NULL } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { FLOAT_LAYOUT } from './weight-layout.ts';

const THREADS = 256;
/** Values of a group that a thread holds, as long as a block may have so many threads. */
const OWN_VALUES = 4;
const MIN_THREADS = 32;
const MAX_THREADS = 1024;
/** Threads of a block of `gated-norm.hip`. */
const GATED_THREADS = 128;

/** A norm with another tensor added to its result. */
export function emitNormResidual({ op, addend, y }: NormResidualIntent, to: Lowering): void {
  launchRmsNorm(op, { addend, y }, to);
}

/** A norm of groups with a gate on its result: a warp takes a group. */
export function emitGatedNorm({ norm, op, y, form }: GatedNormIntent, to: Lowering): void {
  const { x, size, weight, epsilon } = norm;
  const groups = to.capacity(x) * (x.width / size);
  to.launch({
    file: 'gated-norm.hip',
    kernel: 'gated_norm',
    defines: {
      SIZE: size,
      ACTIVATION: activationCode(op.fn),
      OUTPUT: form === 'f32' ? 0 : 1,
      ...halfDefines(form),
    },
    grid: [Math.ceil(groups / (GATED_THREADS / 32))],
    block: GATED_THREADS,
    args: [to.count(x), x, to.weight([weight], FLOAT_LAYOUT), op.gate, y, int(x.width), float(epsilon)],
  });
}

export function lowerRmsNorm(op: RmsNormOp, to: Lowering): void {
  launchRmsNorm(op, { addend: NULL, y: op.out }, to);
}

/** How a group of values is divided among a block's threads. */
function threadsOf(size: number): { readonly THREADS: number; readonly OWN: number } {
  const wanted = 2 ** Math.ceil(Math.log2(size / OWN_VALUES));
  const threads = Math.min(Math.max(wanted, MIN_THREADS), MAX_THREADS);
  return { THREADS: threads, OWN: Math.ceil(size / threads) };
}

function launchRmsNorm(
  { x, size, weight, epsilon, out }: RmsNormOp,
  { addend, y }: { readonly addend: Operand; readonly y: Tensor },
  to: Lowering,
): void {
  const division = threadsOf(size);
  to.launch({
    file: 'norm.hip',
    kernel: 'rms_norm',
    defines: {
      ...division,
      ...(weight && weight.rows > 1 && { WEIGHT_BY_GROUP: 1 }),
    },
    grid: [to.capacity(out), out.width / size],
    block: division.THREADS,
    args: [
      to.count(out),
      x,
      weight ? to.weight([weight], FLOAT_LAYOUT) : NULL,
      addend,
      y,
      int(out.width),
      int(size),
      float(epsilon),
    ],
  });
}

export function lowerGaussianTopK({ x, deviations, out }: GaussianTopKOp, to: Lowering): void {
  to.launch({
    file: 'group-norm.hip',
    kernel: 'gaussian_top_k',
    grid: [to.capacity(out)],
    block: THREADS,
    args: [to.count(out), x, out, int(out.width), float(deviations)],
  });
}

export function lowerLayerNorm({ x, weight, bias, epsilon, out }: LayerNormOp, to: Lowering): void {
  const division = threadsOf(out.width);
  to.launch({
    file: 'layer-norm.hip',
    kernel: 'layer_norm',
    defines: division,
    grid: [to.capacity(out)],
    block: division.THREADS,
    args: [
      to.count(out),
      x,
      to.weight([weight], FLOAT_LAYOUT),
      bias ? to.weight([bias], FLOAT_LAYOUT) : NULL,
      out,
      int(out.width),
      float(epsilon),
    ],
  });
}

import type { NormResidualIntent } from '../../../device/index.ts';
import type { GaussianTopKOp, LayerNormOp, RmsNormOp, Tensor } from '../../../ops/index.ts';
import type { Operand } from './launch-plan.ts';
import { float, int, NULL } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { FLOAT_LAYOUT } from './weight-layout.ts';

const THREADS = 256;

/** A norm with another tensor added to its result. */
export function emitNormResidual({ op, addend, y }: NormResidualIntent, to: Lowering): void {
  launchRmsNorm(op, { addend, y }, to);
}

export function lowerRmsNorm(op: RmsNormOp, to: Lowering): void {
  launchRmsNorm(op, { addend: NULL, y: op.out }, to);
}

function launchRmsNorm(
  { x, size, weight, epsilon, out }: RmsNormOp,
  { addend, y }: { readonly addend: Operand; readonly y: Tensor },
  to: Lowering,
): void {
  to.launch({
    file: 'norm.hip',
    kernel: 'rms_norm',
    ...(weight && weight.rows > 1 && { defines: { WEIGHT_BY_GROUP: 1 } }),
    grid: [to.capacity(out), out.width / size],
    block: THREADS,
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
  to.launch({
    file: 'norm.hip',
    kernel: 'layer_norm',
    grid: [to.capacity(out)],
    block: THREADS,
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

import type { LayerNormOp, RmsNormOp } from '../../../ops/index.ts';
import { float, int, NULL } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { FLOAT_LAYOUT } from './weight-layout.ts';

const THREADS = 256;

export function lowerRmsNorm({ x, weight, epsilon, out }: RmsNormOp, to: Lowering): void {
  const group = weight.columns;
  to.launch({
    file: 'norm.hip',
    kernel: 'rms_norm',
    grid: [to.capacity(out), out.width / group],
    block: THREADS,
    args: [
      to.count(out),
      x,
      to.weight([weight], FLOAT_LAYOUT),
      out,
      int(out.width),
      int(group),
      float(epsilon),
    ],
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

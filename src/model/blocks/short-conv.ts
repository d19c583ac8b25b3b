import { causalConv } from '../../ops/causal-conv.ts';
import { mul } from '../../ops/elementwise.ts';
import { slice } from '../../ops/slice.ts';
import type { Tensor } from '../../ops/value.ts';
import type { PartScope } from '../part-scope.ts';
import type { Block, LayerInputs } from './block.ts';
import { linear } from './linear.ts';

/** Sizes of a gated short convolution. */
export interface ShortConvSpec {
  /** Kernel size of the convolution. */
  readonly taps: number;
}

/**
 * The gated short convolution that LFM 2 uses in place of attention (Liquid AI 2025): an input projection gives `b`, `c` and `x`;
 * the output projection is applied to `c * conv(b * x)`.
 */
export function shortConv(spec: ShortConvSpec): Block<'short convolution', ShortConvSpec> {
  return {
    kind: 'short convolution',
    spec,
    state: { kind: 'slots' },
    record: (scope, x, layer) => recordShortConv(scope, x, spec, layer),
  };
}

function recordShortConv(
  scope: PartScope,
  x: Tensor,
  { taps }: ShortConvSpec,
  { states }: LayerInputs,
): Tensor {
  const { g } = scope;
  const { width } = x;
  const all = linear(scope, x, { name: 'shortconv.in_proj', rows: 3 * width, scale: 'never' });
  const part = (place: number) => slice(g, all, { offset: place * width, width });
  const convolved = causalConv(g, mul(g, part(0), part(2)), {
    weight: scope.weight('shortconv.conv.weight', width, taps),
    last: states.perSlot('conv', (taps - 1) * width),
  });
  const mixed = mul(g, part(1), convolved);
  return linear(scope, mixed, { name: 'shortconv.out_proj', rows: width, scale: 'never' });
}

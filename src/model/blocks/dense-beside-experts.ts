import { add, mul, scale } from '../../ops/elementwise.ts';
import { l2Norm } from '../../ops/group-norm.ts';
import type { Tensor } from '../../ops/value.ts';
import type { PartScope } from '../part-scope.ts';
import type { Block, LayerInputs } from './block.ts';
import { type ExpertsSpec, inLayer, recordExperts } from './experts.ts';
import { feedForward, type FeedForwardSpec } from './feed-forward.ts';
import { type Norm, normalize } from './norm.ts';

/** A feed-forward and a mixture of experts in parallel. */
export interface DenseBesideExpertsSpec {
  /** The norm before and after each of the two; the router's has no learned factors. */
  readonly norm: Norm;
  readonly dense: FeedForwardSpec;
  readonly experts: ExpertsSpec;
}

/** The sum of a feed-forward and a mixture of experts. */
export type DenseBesideExpertsBlock = Block<'dense-beside-experts', DenseBesideExpertsSpec>;

/**
 * Creates the block, which reads the residual stream and contains its own norms: `ffn_norm` and `post_ffw_norm_1`
 * around the feed-forward, `pre_ffw_norm_2` and `post_ffw_norm_2` around the experts. The router reads an RMS norm of
 * the stream without factors, divided by the root of its width and multiplied by `ffn_gate_inp.scale` (Gemma 4).
 */
export function denseBesideExperts(spec: DenseBesideExpertsSpec): DenseBesideExpertsBlock {
  return {
    kind: 'dense-beside-experts',
    spec,
    record: (scope, x, layer) => recordBoth(scope, x, spec, layer),
  };
}

function recordBoth(
  scope: PartScope,
  x: Tensor,
  { norm, dense, experts }: DenseBesideExpertsSpec,
  layer: LayerInputs,
): Tensor {
  const { g } = scope;
  const normed = (of: Tensor, name: string) => normalize(scope, of, { ...norm, name });
  const own = feedForward(dense).record(scope, normed(x, 'ffn_norm'), layer);
  const length = l2Norm(g, x, { by: 'rms', size: x.width, epsilon: norm.epsilon });
  const routed = mul(
    g,
    scale(g, length, 1 / Math.sqrt(x.width)),
    scope.weight('ffn_gate_inp.scale', 1, x.width),
  );
  const mixed = recordExperts(scope, normed(x, 'pre_ffw_norm_2'), inLayer(experts, layer.index), { routed });
  return add(g, normed(own, 'post_ffw_norm_1'), normed(mixed, 'post_ffw_norm_2'));
}

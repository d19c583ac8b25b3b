import { causalConv } from '../../ops/causal-conv.ts';
import { add, gated, mul, unary } from '../../ops/elementwise.ts';
import { gatedDelta } from '../../ops/gated-delta.ts';
import { slice } from '../../ops/slice.ts';
import type { Tensor } from '../../ops/value.ts';
import type { ConfigReader } from '../config-reader.ts';
import type { PartScope } from '../part-scope.ts';
import type { Block, LayerInputs } from './block.ts';
import { linear } from './linear.ts';
import { type Norm, normalize } from './norm.ts';

/** Sizes of a gated delta net, in elements except for the numbers of heads. */
export interface GatedDeltaNetSpec {
  /** Number of value heads, and of query and key heads, each of which `heads / keyHeads` value heads share. */
  readonly heads: number;
  readonly keyHeads: number;
  /** Size of a query, key or value head. */
  readonly headSize: number;
  /** Rows that the convolution covers, including the row's own. */
  readonly taps: number;
  /** Norm of each head's result; its epsilon also normalizes the lengths of queries and keys. */
  readonly norm: Norm;
  /**
   * How files store the projections to decay and beta: in separate matrices, with value heads in `tiled` order (Qwen
   * 3.5), or in `ssm_ba`, with the betas and then the decays of each key head's group (Qwen 3 Next).
   */
  readonly layout: 'apart' | 'grouped';
}

/**
 * A gated delta net (Yang et al. 2025), used by Qwen 3 Next and 3.5 instead of attention: queries, keys and values
 * through a convolution, the gated delta rule, a norm per head, and a gate.
 */
export function gatedDeltaNet(spec: GatedDeltaNetSpec): Block<'gated delta net', GatedDeltaNetSpec> {
  return {
    kind: 'gated delta net',
    spec,
    state: { kind: 'slots' },
    record: (scope, x, layer) => recordGatedDeltaNet(scope, x, spec, layer),
  };
}

/** Reads the sizes. Throws `MODEL_CONFIG` if value heads are not as wide as key heads. */
export function readGatedDeltaNet(read: ConfigReader): Omit<GatedDeltaNetSpec, 'norm' | 'layout'> {
  const heads = read.count('ssm.time_step_rank');
  const keyHeads = read.count('ssm.group_count');
  const headSize = read.count('ssm.state_size');
  const inner = read.count('ssm.inner_size');
  if (heads % keyHeads !== 0) read.refuse('ssm.group_count', `${keyHeads}`, `a divisor of ${heads} heads`);
  if (inner !== heads * headSize) {
    read.refuse('ssm.inner_size', `${inner}`, `${heads} heads of ${headSize}`);
  }
  return { heads, keyHeads, headSize, taps: read.count('ssm.conv_kernel') };
}

function recordGatedDeltaNet(
  scope: PartScope,
  x: Tensor,
  spec: GatedDeltaNetSpec,
  { states }: LayerInputs,
): Tensor {
  const { g } = scope;
  const { heads, keyHeads, headSize, taps, norm, layout } = spec;
  const [keys, values] = [keyHeads * headSize, heads * headSize];
  const width = 2 * keys + values;
  const scale = layout === 'apart' ? 'before' : 'never';
  const projected = linear(scope, x, { name: 'attn_qkv', rows: width, scale });
  const gate = linear(scope, x, { name: 'attn_gate', rows: values, scale });
  const { alpha, beta } = recordRates(scope, x, spec);
  const convolved = causalConv(g, projected, {
    weight: scope.weight('ssm_conv1d.weight', width, taps),
    fn: 'silu',
    last: states.perSlot('conv', (taps - 1) * width),
  });
  const [q, k, v] = [
    slice(g, convolved, { offset: 0, width: keys }),
    slice(g, convolved, { offset: keys, width: keys }),
    slice(g, convolved, { offset: 2 * keys, width: values }),
  ];
  const slowness = unary(g, 'softplus', add(g, alpha, scope.weight('ssm_dt.bias', 1, heads)));
  const decay = mul(g, slowness, scope.weight('ssm_a', 1, heads));
  const mixed = gatedDelta(
    g,
    { q, k, v, decay, beta: unary(g, 'sigmoid', beta) },
    {
      ...{ heads, keyHeads, keySize: headSize, valueSize: headSize },
      keyOrder: layout === 'apart' ? 'tiled' : 'interleaved',
      lengthEpsilon: norm.epsilon,
      scale: 1 / Math.sqrt(headSize),
      state: states.perSlot('delta', heads * headSize * headSize),
    },
  );
  const normed = normalize(scope, mixed, { ...norm, name: 'ssm_norm' }, headSize);
  return linear(scope, gated(g, 'silu', gate, normed), { name: 'ssm_out', rows: x.width, scale });
}

/** The inputs from which each head's decay and beta are computed. */
function recordRates(
  scope: PartScope,
  x: Tensor,
  { heads, keyHeads, layout }: GatedDeltaNetSpec,
): { readonly alpha: Tensor; readonly beta: Tensor } {
  if (layout === 'apart') {
    const beta = linear(scope, x, { name: 'ssm_beta', rows: heads });
    return { alpha: linear(scope, x, { name: 'ssm_alpha', rows: heads }), beta };
  }
  const both = linear(scope, x, { name: 'ssm_ba', rows: 2 * heads, scale: 'never' });
  const part = heads / keyHeads;
  const half = (offset: number) =>
    slice(scope.g, both, { offset, segmentWidth: part, stride: 2 * part, width: heads });
  return { alpha: half(part), beta: half(0) };
}

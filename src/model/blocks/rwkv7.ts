import { add, mul, scale, unary } from '../../ops/elementwise.ts';
import { groupNorm, l2Norm } from '../../ops/group-norm.ts';
import { lerp } from '../../ops/lerp.ts';
import { tokenShift } from '../../ops/token-shift.ts';
import type { Tensor } from '../../ops/value.ts';
import { wkv7, wkvBonus } from '../../ops/wkv7.ts';
import type { ConfigReader } from '../config-reader.ts';
import type { PartScope } from '../part-scope.ts';
import type { Block, LayerInputs } from './block.ts';
import { linear } from './linear.ts';

/** Sizes of RWKV-7's time mixing. Widths count elements. */
export interface TimeMixSpec {
  readonly headSize: number;
  /** Ranks of the low-rank products. */
  readonly ranks: {
    readonly decay: number;
    readonly rate: number;
    readonly value: number;
    readonly gate: number;
  };
  /** Whether files may lack the norm of the recurrence's result. Default: it is required. */
  readonly norm?: 'if there';
}

/** Reads the sizes as RWKV-7's files name them. Throws `MODEL_CONFIG`. */
export function readTimeMix(read: ConfigReader): TimeMixSpec {
  const rank = (name: string) => read.count(`attention.${name}_lora_rank`);
  return {
    headSize: read.count('wkv.head_size'),
    ranks: {
      decay: rank('decay'),
      rate: rank('iclr'),
      value: rank('value_residual_mix'),
      gate: rank('gate'),
    },
  };
}

/** The decay of a state is `exp(-e^-0.5 sigmoid(...))`: never below 0.545. */
const DECAY_FACTOR = -Math.exp(-0.5);

/** The group norm's epsilon: 1e-5 for each of the 64 values of a head. */
const GROUP_EPSILON = 64e-5;
const LENGTH_EPSILON = 1e-12;

/** The row of `time_mix_lerp_fused` with each mixture's weights. */
const MIXTURES = { receptance: 0, decay: 1, key: 2, value: 3, rate: 4, gate: 5 } as const;

/**
 * The name under which the first layer shares its values, with which later layers' values are interpolated (value
 * residual).
 */
const FIRST_VALUE = 'first value';

/**
 * RWKV-7's time mixing (Peng et al. 2025): instead of attention, each head has a matrix in which every token removes
 * what is stored under a key and writes a value; decay, learning rate, value residual and gate are low-rank functions
 * of the token and the previous one.
 */
export function timeMix(spec: TimeMixSpec): Block<'time mix', TimeMixSpec> {
  return {
    kind: 'time mix',
    spec,
    state: { kind: 'slots' },
    record: (scope, x, layer) => recordTimeMix(scope, x, spec, layer),
  };
}

function recordTimeMix(
  scope: PartScope,
  x: Tensor,
  { headSize, ranks, norm }: TimeMixSpec,
  layer: LayerInputs,
): Tensor {
  const { g } = scope;
  const { width } = x;
  const before = tokenShift(g, x, layer.states.perSlot('time shift', width));
  const factors = scope.weight('time_mix_lerp_fused.weight', 6, width);
  const mixture = (row: number) => lerp(g, x, before, { t: factors, row });
  const mixtures = {
    receptance: mixture(MIXTURES.receptance),
    decay: mixture(MIXTURES.decay),
    key: mixture(MIXTURES.key),
    value: mixture(MIXTURES.value),
    rate: mixture(MIXTURES.rate),
    gate: mixture(MIXTURES.gate),
  };
  const vector = (name: string) => scope.weight(`time_mix_${name}.weight`, 1, width);
  const product = (of: Tensor, name: string, rows = width) =>
    linear(scope, of, { name: `time_mix_${name}`, rows });

  // First all products of the row itself, then those that depend on them, so that devices can compute each group at
  // once.
  const r = product(mixtures.receptance, 'receptance');
  const key = product(mixtures.key, 'key');
  const value = product(mixtures.value, 'value');
  const decay = unary(g, 'tanh', product(mixtures.decay, 'w1', ranks.decay));
  const rate = product(mixtures.rate, 'a1', ranks.rate);
  const opened = unary(g, 'sigmoid', product(mixtures.gate, 'g1', ranks.gate));
  const first = layer.shared.get(FIRST_VALUE);
  const drawn = first && product(mixtures.value, 'v1', ranks.value);
  if (!first) layer.share(FIRST_VALUE, value);

  const slowness = unary(g, 'sigmoid', add(g, product(decay, 'w2'), vector('w0')));
  const w = unary(g, 'exp', scale(g, slowness, DECAY_FACTOR));
  const a = unary(g, 'sigmoid', add(g, product(rate, 'a2'), vector('a0')));
  const gate = product(opened, 'g2');
  // From the second layer on, the value is interpolated towards the first layer's.
  const pull = drawn && unary(g, 'sigmoid', add(g, product(drawn, 'v2'), vector('v0')));
  const v = first && pull ? lerp(g, value, first, { t: pull }) : value;

  const kk = l2Norm(g, mul(g, key, vector('k_k')), { size: headSize, epsilon: LENGTH_EPSILON });
  const k = lerp(g, key, mul(g, key, a), { t: vector('k_a') });
  const state = layer.states.perSlot('wkv', width * headSize);
  const remembered = wkv7(g, { r, w, k, v, kk, a }, { state, headSize });
  const isNormed = norm === undefined || scope.has('time_mix_ln.weight');
  const normed = isNormed ? normHeads(scope, remembered, headSize) : remembered;
  const bonus = wkvBonus(g, { r, k, v }, { weight: vector('r_k'), headSize });
  return product(mul(g, add(g, normed, bonus), gate), 'output');
}

/** Normalizes each head's result of the recurrence. */
function normHeads(scope: PartScope, x: Tensor, size: number): Tensor {
  const weight = scope.weight('time_mix_ln.weight', 1, x.width);
  const bias = scope.weight('time_mix_ln.bias', 1, x.width);
  return groupNorm(scope.g, x, { size, weight, bias, epsilon: GROUP_EPSILON });
}

/** Sizes of channel mixing. */
export interface ChannelMixSpec {
  /** Width of the hidden layer. */
  readonly hidden: number;
}

/** RWKV-7's feed-forward on a mixture of each token and the previous one (Peng et al. 2025). */
export function channelMix(spec: ChannelMixSpec): Block<'channel mix', ChannelMixSpec> {
  return {
    kind: 'channel mix',
    spec,
    state: { kind: 'slots' },
    record(scope, x, { states }) {
      const { g } = scope;
      const before = tokenShift(g, x, states.perSlot('channel shift', x.width));
      const t = scope.weight('channel_mix_lerp_k.weight', 1, x.width);
      const key = linear(scope, lerp(g, x, before, { t }), { name: 'channel_mix_key', rows: spec.hidden });
      return linear(scope, unary(g, 'relu_squared', key), { name: 'channel_mix_value', rows: x.width });
    },
  };
}

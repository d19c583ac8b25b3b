import { add, mul, scale, unary } from '../../ops/elementwise.ts';
import { groupNorm, l2Norm } from '../../ops/group-norm.ts';
import { lerp } from '../../ops/lerp.ts';
import { matmul } from '../../ops/matmul.ts';
import { layerNorm } from '../../ops/norm.ts';
import { gatherRows } from '../../ops/rows.ts';
import { tokenShift } from '../../ops/token-shift.ts';
import type { Tensor } from '../../ops/value.ts';
import { wkv7, wkvBonus } from '../../ops/wkv7.ts';
import type { Architecture, LayerInputs, PartScope } from '../architecture.ts';
import { linear } from '../blocks.ts';
import type { ModelConfig } from '../model-config.ts';

/** Sizes of an RWKV-7 model. Widths count elements. */
export interface Rwkv7Config extends ModelConfig {
  readonly headSize: number;
  readonly hidden: number;
  readonly normEpsilon: number;
  /** Inner widths of the low-rank products. */
  readonly ranks: {
    readonly decay: number;
    readonly rate: number;
    readonly value: number;
    readonly gate: number;
  };
}

type Scope = PartScope<Rwkv7Config>;

/** The decay of a state is `exp(-e^-0.5 sigmoid(...))`: never below 0.545. */
const DECAY_FACTOR = -Math.exp(-0.5);

/** The group norm's epsilon: 1e-5 for each of the 64 values of a head. */
const GROUP_EPSILON = 64e-5;
const LENGTH_EPSILON = 1e-12;

/** In which row of `time_mix_lerp_fused` the shares of each mixture stand. */
const MIXTURES = { receptance: 0, decay: 1, key: 2, value: 3, rate: 4, gate: 5 } as const;

/**
 * RWKV-7 "Goose" (Peng et al. 2025): in place of attention a matrix a head, in which each token removes what stands under
 * a key and writes a value; decay, learning rate, value residual and gate are low-rank functions of the token and the one
 * before.
 */
export const rwkv7: Architecture<Rwkv7Config> = {
  names: ['rwkv7'],
  configure(read) {
    const rank = (name: string) => read.count(`attention.${name}_lora_rank`);
    return {
      architecture: read.architecture,
      memory: 'recurrent',
      layers: read.count('block_count'),
      width: read.count('embedding_length'),
      trainedContext: read.count('context_length'),
      headSize: read.count('wkv.head_size'),
      hidden: read.count('feed_forward_length'),
      normEpsilon: read.real('attention.layer_norm_epsilon'),
      ranks: {
        decay: rank('decay'),
        rate: rank('iclr'),
        value: rank('value_residual_mix'),
        gate: rank('gate'),
      },
    };
  },
  recordEmbedding,
  recordLayer,
  recordHead,
};

function normalize(scope: Scope, x: Tensor, name: string): Tensor {
  const weight = scope.weight(`${name}.weight`, 1, x.width);
  const bias = scope.weight(`${name}.bias`, 1, x.width);
  return layerNorm(scope.g, x, { weight, bias, epsilon: scope.config.normEpsilon });
}

function recordEmbedding(scope: Scope, ids: Tensor) {
  return { x: normalize(scope, scope.embed(ids), 'token_embd_norm'), shared: new Map() };
}

function recordLayer(scope: Scope, inputs: LayerInputs): Tensor {
  const { g } = scope;
  const mixed = add(g, inputs.x, recordTimeMix(scope, normalize(scope, inputs.x, 'attn_norm'), inputs));
  return add(g, mixed, recordChannelMix(scope, normalize(scope, mixed, 'attn_norm_2'), inputs));
}

function recordTimeMix(scope: Scope, x: Tensor, inputs: LayerInputs): Tensor {
  const { g, config } = scope;
  const { width, headSize, ranks } = config;
  const before = tokenShift(g, x, inputs.states.perSlot('time shift', width));
  const shares = scope.weight('time_mix_lerp_fused.weight', 6, width);
  const mixture = (row: number) => lerp(g, x, before, { t: shares, row });
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

  // First all products of the row itself, then those that build on them: so devices may compute each kind at once.
  const r = product(mixtures.receptance, 'receptance');
  const key = product(mixtures.key, 'key');
  const value = product(mixtures.value, 'value');
  const decay = unary(g, 'tanh', product(mixtures.decay, 'w1', ranks.decay));
  const rate = product(mixtures.rate, 'a1', ranks.rate);
  const opened = unary(g, 'sigmoid', product(mixtures.gate, 'g1', ranks.gate));
  const first = inputs.shared.get('first value');
  const drawn = first && product(mixtures.value, 'v1', ranks.value);
  if (!first) inputs.share('first value', value);

  const slowness = unary(g, 'sigmoid', add(g, product(decay, 'w2'), vector('w0')));
  const w = unary(g, 'exp', scale(g, slowness, DECAY_FACTOR));
  const a = unary(g, 'sigmoid', add(g, product(rate, 'a2'), vector('a0')));
  const gate = product(opened, 'g2');
  // From the second layer on the value is drawn towards the first layer's.
  const share = drawn && unary(g, 'sigmoid', add(g, product(drawn, 'v2'), vector('v0')));
  const v = first && share ? lerp(g, value, first, { t: share }) : value;

  const kk = l2Norm(g, mul(g, key, vector('k_k')), { size: headSize, epsilon: LENGTH_EPSILON });
  const k = lerp(g, key, mul(g, key, a), { t: vector('k_a') });
  const state = inputs.states.perSlot('wkv', width * headSize);
  const remembered = groupNorm(g, wkv7(g, { r, w, k, v, kk, a }, { state, headSize }), {
    size: headSize,
    weight: vector('ln'),
    bias: scope.weight('time_mix_ln.bias', 1, width),
    epsilon: GROUP_EPSILON,
  });
  const bonus = wkvBonus(g, { r, k, v }, { weight: vector('r_k'), headSize });
  return product(mul(g, add(g, remembered, bonus), gate), 'output');
}

function recordChannelMix(scope: Scope, x: Tensor, { states }: LayerInputs): Tensor {
  const { g, config } = scope;
  const before = tokenShift(g, x, states.perSlot('channel shift', config.width));
  const t = scope.weight('channel_mix_lerp_k.weight', 1, config.width);
  const key = linear(scope, lerp(g, x, before, { t }), { name: 'channel_mix_key', rows: config.hidden });
  return linear(scope, unary(g, 'relu_squared', key), { name: 'channel_mix_value', rows: config.width });
}

function recordHead(scope: Scope, x: Tensor): Tensor {
  const { width } = scope.config;
  const normed = normalize(scope, gatherRows(scope.g, x), 'output_norm');
  const rows = scope.rowsOf('token_embd.weight', width);
  return matmul(scope.g, normed, scope.weight('output.weight', rows, width));
}

import { concat } from '../../ops/concat.ts';
import { add, gated, mul, scale, unary } from '../../ops/elementwise.ts';
import type { GraphBuilder } from '../../ops/graph.ts';
import { groupNorm } from '../../ops/group-norm.ts';
import { lerp } from '../../ops/lerp.ts';
import { matmulHeads } from '../../ops/matmul-heads.ts';
import { selectiveScan } from '../../ops/selective-scan.ts';
import { slice } from '../../ops/slice.ts';
import { tokenShift } from '../../ops/token-shift.ts';
import type { Tensor } from '../../ops/value.ts';
import { wkvBonus } from '../../ops/wkv7.ts';
import type { ConfigReader } from '../config-reader.ts';
import type { PartScope } from '../part-scope.ts';
import type { Block, LayerInputs } from './block.ts';
import { linear } from './linear.ts';
import type { ChannelMixSpec } from './rwkv7.ts';

/** Sizes of RWKV-6's time mixing. Widths count elements. */
export interface DataDependentMixSpec {
  readonly headSize: number;
  /** Heads of keys and values, each of which as many heads share; 0 if each head has its own. */
  readonly kvHeads: number;
  /** Ranks of the low-rank products. */
  readonly ranks: { readonly mixture: number; readonly decay: number };
  /**
   * `wkv` as in RWKV-6: a row reads the state before its own key and value, which have a bonus, and results are normalized head by
   * head. `linear` as in models made from Qwen: gated linear attention, keys opened as far as their state decays.
   */
  readonly form: 'wkv' | 'linear';
}

/** Reads the sizes as files name them. Throws `MODEL_CONFIG`. */
export function readDataDependentMix(
  read: ConfigReader,
  form: DataDependentMixSpec['form'],
): DataDependentMixSpec {
  const headSize = read.count('wkv.head_size');
  const heads = read.count('embedding_length') / headSize;
  if (!Number.isInteger(heads)) read.refuse('wkv.head_size', `${headSize}`, 'a divisor of the width');
  const kvHeads = read.countOrZero('attention.head_count_kv') || heads;
  if (heads % kvHeads !== 0) {
    read.refuse('attention.head_count_kv', `${kvHeads}`, `a divisor of ${heads} heads`);
  }
  const ranks = { mixture: read.count('time_mix_extra_dim'), decay: read.count('time_decay_extra_dim') };
  return { headSize, kvHeads, ranks, form };
}

/** The group norm's epsilon: 1e-5 for each of the 64 values of a head. */
const GROUP_EPSILON = 64e-5;

/** The order of what is mixed of a row and the previous one in `time_mix_lerp_fused` and `time_mix_w2`. */
const MIXTURES = ['w', 'k', 'v', 'r', 'g'] as const;

/**
 * RWKV-6's time mixing (Peng et al. 2024, "Eagle and Finch"): how much of the previous row is mixed in, and how fast each element of
 * a key's state decays, depend on the row.
 */
export function dataDependentMix(spec: DataDependentMixSpec): Block<'time mix', DataDependentMixSpec> {
  return {
    kind: 'time mix',
    spec,
    state: { kind: 'slots' },
    record: (scope, x, layer) => recordMix(scope, x, spec, layer),
  };
}

function recordMix(scope: PartScope, x: Tensor, spec: DataDependentMixSpec, { states }: LayerInputs): Tensor {
  const { g } = scope;
  const { headSize, kvHeads, ranks, form } = spec;
  const { width } = x;
  const mixed = recordMixtures(
    scope,
    x,
    tokenShift(g, x, states.perSlot('time shift', width)),
    ranks.mixture,
  );
  const product = (of: Tensor, name: string, rows = width) =>
    linear(scope, of, { name: `time_mix_${name}`, rows });
  const r = product(mixed.r, 'receptance');
  const key = perHead(g, product(mixed.k, 'key', kvHeads * headSize), { headSize, width });
  const v = perHead(g, product(mixed.v, 'value', kvHeads * headSize), { headSize, width });
  const opening = product(mixed.g, 'gate');
  const speed = product(unary(g, 'tanh', product(mixed.w, 'decay_w1', ranks.decay)), 'decay_w2');
  const rate = unary(g, 'exp', add(g, speed, scope.weight('time_mix_decay.weight', 1, width)));
  const decay = unary(g, 'exp', scale(g, rate, -1));
  const heads = width / headSize;
  const scanOf = (operands: { readonly x: Tensor; readonly b: Tensor; readonly c: Tensor }, of: Tensor) =>
    selectiveScan(g, operands, {
      ...{ heads, headSize, stateSize: headSize, groups: heads, decay: of },
      state: states.perSlot('wkv', width * headSize),
    });
  if (form === 'linear') {
    const k = add(g, key, scale(g, mul(g, key, decay), -1));
    const read = scale(g, scanOf({ x: v, b: k, c: r }, decay), 1 / Math.sqrt(headSize));
    return product(gated(g, 'sigmoid', opening, read), 'output');
  }
  // A row reads the state that the previous row has left: that of keys, values and decays that come one row late.
  const late = (of: Tensor, name: string) => tokenShift(g, of, states.perSlot(`late ${name}`, width));
  const before = scanOf({ x: late(v, 'value'), b: late(key, 'key'), c: r }, late(decay, 'decay'));
  const weight = scope.weight('time_mix_first.weight', heads, headSize);
  const remembered = add(g, before, wkvBonus(g, { r, k: key, v }, { weight, headSize }));
  const normed = groupNorm(g, remembered, {
    size: headSize,
    weight: scope.weight('time_mix_ln.weight', 1, width),
    bias: scope.weight('time_mix_ln.bias', 1, width),
    epsilon: GROUP_EPSILON,
  });
  return product(gated(g, 'silu', opening, normed), 'output');
}

/** What each of the projections reads: the row and the previous one, mixed by learned shares and by shares of the row. */
function recordMixtures(
  scope: PartScope,
  x: Tensor,
  before: Tensor,
  rank: number,
): Record<(typeof MIXTURES)[number], Tensor> {
  const { g } = scope;
  const { width } = x;
  const count = MIXTURES.length;
  const first = lerp(g, x, before, { t: scope.weight('time_mix_lerp_x.weight', 1, width) });
  const low = unary(
    g,
    'tanh',
    linear(scope, first, { name: 'time_mix_w1', rows: count * rank, scale: 'never' }),
  );
  const matrices = scope.expertWeight('time_mix_w2.weight', { count, rows: width }, rank);
  const shares = matmulHeads(g, low, matrices, count);
  const change = add(g, before, scale(g, x, -1));
  const fused = scope.optional('time_mix_lerp_fused.weight', count, width);
  const learned = (name: string, row: number) =>
    fused
      ? lerp(g, x, before, { t: fused, row })
      : lerp(g, x, before, { t: scope.weight(`time_mix_lerp_${name}.weight`, 1, width) });
  const mixtures = MIXTURES.map((name, row) => {
    const own = slice(g, shares, { offset: row * width, width });
    return [name, add(g, learned(name, row), mul(g, change, own))] as const;
  });
  return Object.fromEntries(mixtures) as Record<(typeof MIXTURES)[number], Tensor>;
}

/** Repeats each head of keys or values for the heads that share it. */
function perHead(
  g: GraphBuilder,
  x: Tensor,
  { headSize, width }: { headSize: number; width: number },
): Tensor {
  let repeated = x;
  for (let times = 1; times < width / x.width; times++) {
    repeated = concat(g, repeated, x, { aPart: times * headSize, bPart: headSize });
  }
  return repeated;
}

/** RWKV-6's feed-forward on mixtures of each row and the previous one, gated by another of them (Peng et al. 2024). */
export function gatedChannelMix(spec: ChannelMixSpec): Block<'channel mix', ChannelMixSpec> {
  return {
    kind: 'channel mix',
    spec,
    state: { kind: 'slots' },
    record(scope, x, { states }) {
      const { g } = scope;
      const { width } = x;
      const before = tokenShift(g, x, states.perSlot('channel shift', width));
      const mixture = (name: string) =>
        lerp(g, x, before, { t: scope.weight(`channel_mix_lerp_${name}.weight`, 1, width) });
      const key = linear(scope, mixture('k'), { name: 'channel_mix_key', rows: spec.hidden });
      const opening = linear(scope, mixture('r'), { name: 'channel_mix_receptance', rows: width });
      const value = linear(scope, unary(g, 'relu_squared', key), { name: 'channel_mix_value', rows: width });
      return gated(g, 'sigmoid', opening, value);
    },
  };
}

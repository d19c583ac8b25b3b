import type { GgufPlan, GgufValue } from '../../src/gguf/index.ts';
import {
  count,
  counts,
  flag,
  flags,
  real,
  reals,
  type SyntheticShape,
  text,
} from '../../src/model/synthetic-family.ts';
import type { FamilyVariant } from '../../tests/support/family-variant.ts';

/** One difference from the small file of an architecture. */
export interface Change extends Pick<FamilyVariant, 'sizes' | 'metadata' | 'having' | 'without'> {
  readonly label: string;
  /** Tensors that are in the file whether our architecture asks for them or not, by full name. */
  readonly added?: Readonly<Record<string, readonly number[]>>;
}

/** Widths, heads and key heads. */
const WIDTHS = [
  [32, 4, 4],
  [32, 4, 1],
  [48, 3, 1],
  [48, 6, 3],
  [64, 4, 2],
  [64, 8, 2],
  [40, 5, 5],
  [64, 2, 1],
  [56, 7, 7],
  [80, 5, 1],
  [96, 6, 2],
] as const;

const LAYERS = [1, 2, 3, 4, 5, 6];
/** Tokens, experts and hidden widths that no block size or tile divides. */
const ODD: readonly Partial<SyntheticShape>[] = [
  ...[67, 95, 131].map((vocabulary) => ({ vocabulary })),
  ...[1, 3, 5, 7, 11].map((experts) => ({ experts, chosenExperts: Math.min(experts, 2) })),
  ...[3, 5].map((chosenExperts) => ({ experts: 7, chosenExperts })),
  ...[20, 33, 52].map((hidden) => ({ hidden, expertHidden: hidden })),
];

/** The file with other sizes. */
export function otherSizes(): Change[] {
  const widths = WIDTHS.map(([width, heads, kvHeads]) => {
    return { label: `width ${width}, heads ${heads} and ${kvHeads}`, sizes: { width, heads, kvHeads } };
  });
  const odd = ODD.map((sizes) => ({ label: JSON.stringify(sizes).replaceAll('"', ''), sizes }));
  return [...widths, ...LAYERS.map((layers) => ({ label: `${layers} layers`, sizes: { layers } })), ...odd];
}

const REALS: Readonly<Record<string, readonly number[]>> = {
  'rope.freq_base': [100, 500_000],
  'rope.freq_base_swa': [100, 10_000],
  'rope.scaling.factor': [2, 4],
  'rope.scale_linear': [4],
  'rope.scaling.attn_factor': [0.8, 1.2],
  'rope.scaling.yarn_log_multiplier': [0.1, 0.7],
  'rope.scaling.yarn_ext_factor': [0, 0.5],
  'rope.scaling.yarn_attn_factor': [0.9],
  'rope.scaling.yarn_beta_fast': [16],
  'rope.scaling.yarn_beta_slow': [2],
  'rope.scaling.alpha': [4],
  'attention.layer_norm_epsilon': [1e-3, 0.1],
  'attention.layer_norm_rms_epsilon': [1e-3, 0.1],
  'attention.group_norm_epsilon': [0.1],
  expert_weights_scale: [2.5],
  logit_scale: [0.5, 2],
  residual_scale: [0.5],
  embedding_scale: [0, 3],
  attn_logit_softcapping: [1],
  router_logit_softcapping: [1],
  final_logit_softcapping: [0, 5],
  'attention.scale': [0.2, 1],
  'attention.output_scale': [0.5],
  'attention.value_scale': [0.5],
  'attention.clamp_kqv': [0.5],
  'attention.max_alibi_bias': [4],
  'attention.temperature_scale': [0.1],
  'kda.gate_lower_bound': [-1],
};

const COUNTS: Readonly<Record<string, readonly number[]>> = {
  'rope.scaling.original_context_length': [8, 32],
  'rope.dimension_count': [2, 4, 6],
  'rope.dimension_count_swa': [4],
  'attention.key_length': [4, 6, 10, 16, 20, 40],
  'attention.value_length': [3, 4, 12, 16, 22],
  'attention.key_length_swa': [16],
  'attention.value_length_swa': [16],
  'attention.head_count': [1, 2, 3, 8],
  'attention.head_count_kv': [1, 4],
  feed_forward_length: [16, 64],
  'attention.sliding_window': [0, 1, 3, 8, 13, 64],
  'attention.sliding_window_pattern': [0, 1, 2, 3, 5],
  expert_count: [0, 2, 8],
  expert_used_count: [1, 3],
  expert_feed_forward_length: [8, 32],
  expert_shared_feed_forward_length: [0, 8],
  expert_shared_count: [0, 2],
  expert_group_count: [2],
  expert_group_used_count: [1, 2],
  expert_gating_func: [1, 2, 3],
  leading_dense_block_count: [0, 1, 9],
  moe_every_n_layers: [2],
  interleave_moe_layer_step: [1, 2],
  moe_latent_size: [8],
  nextn_predict_layers: [1],
  'attention.temperature_length': [4],
  embedding_length_out: [16],
  token_shift_count: [1],
  rescale_every_n_layers: [1, 2],
  'attention.q_lora_rank': [8],
  'attention.kv_lora_rank': [16],
  'attention.key_length_mla': [24],
  'attention.value_length_mla': [8],
  full_attention_interval: [1, 2],
  'attention.shared_kv_layers': [1],
  'ssm.conv_kernel': [2, 3],
  'ssm.state_size': [8, 32],
  'ssm.group_count': [1, 2],
  'ssm.time_step_rank': [2, 8],
  'attention.indexer.top_k': [1, 64],
  'attention.indexer.head_count': [1, 4],
  'attention.indexer.key_length': [32],
  'attention.indexer.block_size': [2, 4],
  'attention.indexer.local_blocks': [0, 2],
  'shortconv.l_cache': [2, 4],
  'wkv.head_size': [16],
};

const FLAGS = [
  'rope.scaling.finetuned',
  'attention.causal',
  'expert_weights_norm',
  'use_parallel_residual',
  'ssm.dt_b_c_rms',
];

const TEXTS: Readonly<Record<string, readonly string[]>> = {
  'rope.scaling.type': ['none', 'linear', 'yarn', 'longrope'],
  hidden_activation: ['silu', 'gelu'],
};

/** Values by layer, the same in every other one. */
function byLayer(layers: number): Record<string, GgufValue> {
  const isOdd = (layer: number) => layer % 2 === 1;
  return {
    'attention.head_count_kv': counts(layers, (layer) => (isOdd(layer) ? 1 : 2)),
    feed_forward_length: counts(layers, (layer) => (isOdd(layer) ? 16 : 48)),
    'attention.sliding_window_pattern': flags(layers, isOdd),
    'attention.head_count': counts(layers, (layer) => (isOdd(layer) ? 2 : 4)),
    'attention.recurrent_layers': flags(layers, isOdd),
    swiglu_clamp_exp: reals(layers, (layer) => (isOdd(layer) ? 0.05 : 0)),
    swiglu_clamp_shexp: reals(layers, (layer) => (isOdd(layer) ? 0.05 : 0)),
  };
}

/** The file with one key more, without it, or with another value. `own` are the family's keys. */
export function otherKeys(own: readonly string[], { layers }: SyntheticShape): Change[] {
  const values: [string, GgufValue][] = [
    ...Object.entries(REALS).flatMap(([key, all]) =>
      all.map((value) => [key, real(value)] as [string, GgufValue]),
    ),
    ...Object.entries(COUNTS).flatMap(([key, all]) =>
      all.map((value) => [key, count(value)] as [string, GgufValue]),
    ),
    ...FLAGS.flatMap((key) => [true, false].map((value) => [key, flag(value)] as [string, GgufValue])),
    ...Object.entries(TEXTS).flatMap(([key, all]) =>
      all.map((value) => [key, text(value)] as [string, GgufValue]),
    ),
    ...Object.entries(byLayer(layers)),
  ];
  const named = values.map(([key, value]) => {
    return { label: `${key} = ${shownValue(value)}`, metadata: { [key]: value } };
  });
  return [...named, ...own.map((key) => ({ label: `no ${key}`, metadata: { [key]: undefined } }))];
}

function shownValue(value: GgufValue): string {
  if ('values' in value) return Array.from(value.values as ArrayLike<unknown>).join();
  return 'value' in value ? String(value.value) : '';
}

const VECTORS = [
  'attn_q_norm',
  'attn_k_norm',
  'post_attention_norm',
  'post_ffw_norm',
  'attn_sub_norm',
  'ffn_sub_norm',
];

/** The file without each optional tensor, and with tensors that others of its kind have. */
export function otherTensors(plan: GgufPlan, optional: readonly string[], shape: SyntheticShape): Change[] {
  const lacking = optional.map((name) => ({ label: `no ${name}`, without: [name] }));
  const there = new Map(plan.tensors.map((tensor) => [tensor.name, tensor.shape]));
  const added = new Map<string, Record<string, readonly number[]>>();
  const add = (name: string, size: readonly number[]) => {
    if (there.has(name)) return;
    const kind = name.replace(/^blk\.\d+\./, '');
    added.set(kind, { ...added.get(kind), [name]: size });
  };
  for (const [name, size] of there) {
    if (!name.endsWith('.weight')) continue;
    const stem = name.slice(0, -'weight'.length);
    if (!/embd/.test(name)) add(`${stem}bias`, size.length === 1 ? size : size.slice(1));
    if (size.length > 1) add(`${stem}scale`, size.length === 3 ? size.slice(2) : [1]);
  }
  const headSize = shape.headSize ?? shape.width / shape.heads;
  for (let layer = 0; layer < shape.layers; layer++) {
    for (const name of VECTORS)
      add(`blk.${layer}.${name}.weight`, [/[qk]_norm/.test(name) ? headSize : shape.width]);
    add(`blk.${layer}.attn_sinks.weight`, [shape.heads]);
    add(`blk.${layer}.ffn_gate.weight`, [shape.width, shape.hidden]);
    add(`blk.${layer}.layer_output_scale.weight`, [1]);
  }
  for (const name of ['rope_freqs', 'rope_factors_long', 'rope_factors_short'])
    add(`${name}.weight`, [headSize / 2]);
  add('output.weight', [shape.width, shape.vocabulary]);
  add('output.bias', [shape.vocabulary]);
  add('token_embd_norm.weight', [shape.width]);
  return [
    ...lacking,
    ...Array.from(added, ([kind, tensors]) => ({ label: `with ${kind}`, having: [kind], added: tensors })),
  ];
}

/** Both changes. */
export function together(a: Change, b: Change): Change {
  return {
    label: `${a.label}; ${b.label}`,
    sizes: { ...a.sizes, ...b.sizes },
    metadata: { ...a.metadata, ...b.metadata },
    having: [...(a.having ?? []), ...(b.having ?? [])],
    without: [...(a.without ?? []), ...(b.without ?? [])],
    added: { ...a.added, ...b.added },
  };
}

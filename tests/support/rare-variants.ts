import { count, counts, flag, real, reals, text } from '../../src/model/synthetic-family.ts';
import { syntheticShape } from '../../src/model/synthetic/shapes.ts';
import type { FamilyVariant } from './family-variant.ts';

const OUTPUT = 'output.weight';
const YARN = {
  'rope.scaling.type': text('yarn'),
  'rope.scaling.factor': real(16),
  'rope.scaling.original_context_length': count(16),
};

/** Variants within architectures of few published models. */
export const RARE_VARIANTS: readonly FamilyVariant[] = [
  {
    name: 'baichuan, 13B: ALiBi instead of RoPE',
    architecture: 'baichuan',
    sizes: { layers: 40, width: 16, heads: 2, kvHeads: 2, hidden: 32 },
  },
  {
    name: 'deci, a product in the first layer, heads that differ, tied',
    architecture: 'deci',
    sizes: { layers: 4 },
    metadata: {
      'attention.head_count': counts(4, (layer) => (layer === 2 ? 0 : 2 * (1 + (layer % 2)))),
      'attention.head_count_kv': counts(4, (layer) => (layer % 2 === 1 ? 2 : 0)),
    },
    without: [OUTPUT, 'rope_freqs.weight'],
  },
  {
    name: 'grok, Grok 1: no feed-forward beside the experts, the other name of the norm',
    architecture: 'grok',
    metadata: {
      embedding_scale: undefined,
      'attention.output_scale': undefined,
      attn_logit_softcapping: undefined,
      final_logit_softcapping: undefined,
      expert_feed_forward_length: undefined,
    },
    having: ['layer_output_norm.weight'],
    without: ['ffn_up.weight', OUTPUT],
    difference: 3e-3,
  },
  {
    name: 'grok, a factor of 0, which is none',
    architecture: 'grok',
    metadata: { embedding_scale: real(0) },
  },
  {
    name: 'granite_swa, experts, RoPE everywhere',
    architecture: 'granite_swa',
    metadata: {
      'attention.rope_pattern': undefined,
      expert_count: count(6),
      expert_used_count: count(2),
    },
  },
  {
    name: 'falcon, 40B: a norm for each sublayer',
    architecture: 'falcon',
    having: ['attn_norm_2.weight', 'attn_norm_2.bias'],
  },
  {
    name: 'falcon, 40B in its last layer alone, a factor of scores that llama.cpp does not read',
    architecture: 'falcon',
    metadata: { 'attention.scale': real(0.2) },
    having: ['blk.1.attn_norm_2.weight'],
  },
  {
    name: 'deepseek32, scales',
    architecture: 'deepseek32',
    having: [
      'ffn_gate',
      'ffn_up',
      'ffn_down',
      'ffn_gate_exps',
      'ffn_up_exps',
      'ffn_down_exps',
      'ffn_up_shexp',
    ].map((name) => `${name}.scale`),
  },
  {
    name: 'deepseek4, YaRN, four groups of heads, limits by layer, no experts by token',
    architecture: 'deepseek4',
    sizes: { layers: 3, experts: 8 },
    metadata: {
      'rope.scaling.type': text('yarn'),
      'rope.scaling.factor': real(16),
      'rope.scaling.original_context_length': count(64),
      'attention.output_group_count': count(4),
      hash_layer_count: count(0),
      swiglu_clamp_exp: reals(3, (layer) => (layer === 1 ? 0 : 0.3)),
      swiglu_clamp_shexp: reals(3, () => 0.2),
    },
  },
  {
    name: 'deepseek4, all experts by token, one iteration, heads that are rotated whole',
    architecture: 'deepseek4',
    sizes: { layers: 3, experts: 8 },
    metadata: {
      'rope.dimension_count': count(64),
      'hyper_connection.sinkhorn_iterations': count(1),
      'hyper_connection.epsilon': real(0.01),
      hash_layer_count: count(3),
      // As published files say: all streams.
      embedding_length_out: count(4 * syntheticShape('tiny', { architecture: 'deepseek4' }).width),
    },
  },
  {
    name: 'glm-dsa, scales',
    architecture: 'glm-dsa',
    sizes: { layers: 3 },
    having: ['ffn_down.scale', 'ffn_gate_exps.scale', 'ffn_down_shexp.scale'],
  },
  {
    name: 'llama-embed, scales',
    architecture: 'llama-embed',
    encodes: true,
    having: ['ffn_gate.scale', 'ffn_up.scale', 'ffn_down.scale'],
  },
  { name: 'minicpm, factors of 0', architecture: 'minicpm', metadata: { residual_scale: real(0) } },
  {
    name: 'plamo3, no windows, tied',
    architecture: 'plamo3',
    metadata: {
      'attention.sliding_window': undefined,
      'attention.sliding_window_pattern': undefined,
      'rope.freq_base_swa': undefined,
    },
    without: [OUTPUT],
  },
  {
    name: 'smallthinker, no windows, softmax',
    architecture: 'smallthinker',
    metadata: { 'attention.sliding_window': undefined, expert_gating_func: count(1) },
  },
  {
    name: 'mpt, bounded projections',
    architecture: 'mpt',
    sizes: { kvHeads: 4 },
    metadata: { 'attention.clamp_kqv': real(0.5) },
  },
  {
    name: 'rwkv6, shares apart, no rescaling',
    architecture: 'rwkv6',
    metadata: { rescale_every_n_layers: undefined },
    without: ['time_mix_lerp_fused.weight'],
  },
  {
    name: 'rwkv6qwen2, one head of keys, no biases',
    architecture: 'rwkv6qwen2',
    metadata: { 'attention.head_count_kv': count(1) },
    without: ['time_mix_receptance.bias', 'time_mix_key.bias', 'time_mix_value.bias'],
  },
  {
    name: 'bitnet, no scales',
    architecture: 'bitnet',
    without: ['attn_q', 'attn_k', 'attn_v', 'attn_output', 'ffn_gate', 'ffn_up', 'ffn_down'].map(
      (name) => `${name}.scale`,
    ),
  },
  {
    name: 'jina-bert-v2, gate and up in one, norms of queries and keys',
    architecture: 'jina-bert-v2',
    encodes: true,
    sizes: { kvHeads: 4 },
    metadata: { pooling_type: count(2) },
    having: ['attn_q_norm.weight', 'attn_k_norm.weight', 'attn_q_norm.bias', 'attn_k_norm.bias'],
    without: ['ffn_gate.weight'],
  },
  {
    name: 'eurobert, the last row',
    architecture: 'eurobert',
    encodes: true,
    metadata: { 'attention.causal': flag(false), pooling_type: count(3) },
  },
  {
    name: 'gemma4, a factor on rotated values',
    architecture: 'gemma4',
    sizes: { layers: 3, experts: 6 },
    metadata: { 'rope.scaling.attn_factor': real(1.2) },
    difference: 3e-3,
  },
  {
    name: 'gemma3, YaRN and a factor on rotated values',
    architecture: 'gemma3',
    sizes: { layers: 3 },
    metadata: {
      'attention.sliding_window_pattern': count(3),
      'rope.scaling.type': text('yarn'),
      'rope.scaling.factor': real(4),
      'rope.scaling.original_context_length': count(16),
      'rope.scaling.attn_factor': real(0.8),
    },
    difference: 3e-3,
  },
  {
    name: 'gemma-embedding, a factor on rotated values',
    architecture: 'gemma-embedding',
    encodes: true,
    metadata: { 'rope.scaling.attn_factor': real(1.2) },
  },
  {
    name: 'llama, a window that no file has',
    architecture: 'llama',
    metadata: { 'attention.sliding_window': count(8) },
  },
  {
    name: 'lfm2moe, a window that no file has',
    architecture: 'lfm2moe',
    sizes: { experts: 4 },
    metadata: { 'attention.sliding_window': count(4) },
  },
  {
    name: 'Grok 2: YaRN',
    architecture: 'grok',
    metadata: {
      'rope.scaling.type': text('yarn'),
      'rope.scaling.factor': real(16),
      'rope.scaling.original_context_length': count(2000),
      'rope.scaling.yarn_ext_factor': real(1),
      'rope.scaling.yarn_attn_factor': real(1),
      'rope.scaling.yarn_beta_slow': real(1),
    },
  },
  {
    name: 'grok, a quarter of the extrapolated share',
    architecture: 'grok',
    metadata: { ...YARN, 'rope.scaling.yarn_ext_factor': real(0.25) },
  },
  ...['deepseek2', 'mistral3', 'laguna'].map((architecture) => ({
    name: `${architecture}, a share that is not read`,
    architecture,
    sizes: architecture === 'laguna' ? { layers: 5 } : {},
    metadata: { ...YARN, 'rope.scaling.yarn_ext_factor': real(0.5) },
  })),
  {
    name: 'mimo2, a factor that windows do not have',
    architecture: 'mimo2',
    sizes: { layers: 3 },
    metadata: { 'rope.scaling.factor': real(4) },
  },
  {
    name: 'muse-glimmer, a factor that windows do not have',
    architecture: 'muse-glimmer',
    sizes: { layers: 4 },
    metadata: { 'rope.scaling.factor': real(4) },
  },
  {
    name: 'modern-bert, a factor on rotated values',
    architecture: 'modern-bert',
    encodes: true,
    sizes: { kvHeads: 4, layers: 4 },
    metadata: { 'rope.scaling.attn_factor': real(1.2) },
  },
  {
    name: 'glm-dsa, two heads of the indexer',
    architecture: 'glm-dsa',
    sizes: { layers: 3 },
    metadata: { 'attention.indexer.head_count': count(2) },
    ties: ['blk.0.indexScores at 17', 'blk.2.indexScores at 19'],
  },
  {
    name: 'smallthinker, windows that turn faster',
    architecture: 'smallthinker',
    sizes: { layers: 5 },
    metadata: { 'rope.freq_base_swa': real(100) },
  },
  {
    name: 'granitemoe, a note of the converter',
    architecture: 'granitemoe',
    sizes: { experts: 4 },
    metadata: { 'rope.scaling.finetuned': flag(false) },
  },
  { name: 'smallthinker, four layers', architecture: 'smallthinker', sizes: { layers: 4 } },
];

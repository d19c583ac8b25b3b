import type { GgufValue } from '../../src/gguf/index.ts';
import { count, counts, flag, real, text } from '../../src/model/synthetic-family.ts';
import { ENCODER_VARIANTS } from './encoder-variants.ts';
import type { FamilyVariant } from './family-variant.ts';
import { fixture } from './fixture.ts';
import { RARE_VARIANTS } from './rare-variants.ts';

const OUTPUT = 'output.weight';
const scalesOf = (...names: readonly string[]) => names.map((name) => `${name}.scale`);
const QKVO_SCALES = scalesOf('attn_q', 'attn_k', 'attn_v', 'attn_output');
const FEED_FORWARD = ['ffn_gate', 'ffn_up', 'ffn_down'];
const EXPERTS = FEED_FORWARD.map((name) => `${name}_exps`);
const SHARED_EXPERT = FEED_FORWARD.map((name) => `${name}_shexp`);
/** The number of experts in the shape `tiny`. */
const EXPERT_COUNT = 6;

/** Scales of this many values that llama.cpp loads but does not use. */
function idleScales(count: number, names: readonly string[]): Record<string, readonly number[]> {
  return Object.fromEntries(scalesOf(...names).map((name) => [name, [count]]));
}

const QKV_BIASES = ['attn_q.bias', 'attn_k.bias', 'attn_v.bias'];
const LONG_AND_SHORT = ['rope_factors_long.weight', 'rope_factors_short.weight'];
const YARN = {
  'rope.scaling.type': text('yarn'),
  'rope.scaling.factor': real(4),
  'rope.scaling.original_context_length': count(16),
};
const LINEAR = { 'rope.scaling.type': text('linear'), 'rope.scaling.factor': real(4) };
const HEADS_OF_16 = { 'attention.key_length': count(16), 'attention.value_length': count(16) };
const COORDINATES: GgufValue = { type: 'array', element: 'i32', values: [1, 1, 0, 0] };

/** Which layers have the window, one flag per layer. */
function layers(...windowed: boolean[]): GgufValue {
  return { type: 'array', element: 'bool', values: windowed };
}

/** Latent attention as in the first files: the keys and values of all heads, which one matrix produces, are cached. */
const EXPANDED: Required<FamilyVariant>['metadata'] = {
  'attention.key_length': count(32),
  'attention.value_length': count(12),
  'attention.head_count_kv': count(4),
  'attention.key_length_mla': undefined,
  'attention.value_length_mla': undefined,
};

/**
 * DeepSeek V2 Lite, which llama.cpp identifies by its number of layers: queries directly from the row, softmax gates,
 * no groups.
 */
const V2_LITE: Required<Pick<FamilyVariant, 'sizes' | 'metadata' | 'without'>> = {
  sizes: { layers: 26 },
  metadata: {
    'attention.q_lora_rank': undefined,
    expert_gating_func: undefined,
    expert_group_count: undefined,
    expert_group_used_count: undefined,
    expert_weights_norm: undefined,
    expert_weights_scale: real(1),
    expert_shared_count: count(2),
  },
  without: ['exp_probs_b.bias'],
};

/** The variants that the CPU is compared with llama.cpp on, in addition to `FAMILY_FIXTURES`. */
export const FAMILY_VARIANTS: readonly FamilyVariant[] = [
  ...RARE_VARIANTS,
  ...ENCODER_VARIANTS,
  {
    name: 'llama, YaRN',
    architecture: 'llama',
    metadata: { ...YARN, 'rope.scaling.attn_factor': real(1.3) },
  },
  { name: 'llama, linear scaling', architecture: 'llama', metadata: LINEAR },
  { name: 'llama, factors of Llama 3', architecture: 'llama', having: ['rope_freqs.weight'] },
  {
    name: 'llama, biases',
    architecture: 'llama',
    having: [...QKV_BIASES, 'attn_output.bias', 'ffn_gate.bias', 'ffn_up.bias', 'ffn_down.bias'],
  },
  {
    name: 'llama, three heads on one, of 16, tied',
    architecture: 'llama',
    sizes: { width: 48, heads: 3, kvHeads: 1 },
    metadata: { ...HEADS_OF_16, 'rope.dimension_count': count(16) },
    without: [OUTPUT],
  },
  {
    name: 'llama, sizes for each layer',
    architecture: 'llama',
    metadata: { 'attention.head_count_kv': { type: 'array', element: 'u32', values: [2, 2] } },
  },
  {
    name: 'llama, scales and biases',
    architecture: 'llama',
    having: [
      ...QKVO_SCALES,
      ...scalesOf(...FEED_FORWARD),
      ...QKV_BIASES,
      ...['attn_output.bias', 'ffn_gate.bias', 'ffn_up.bias', 'ffn_down.bias'],
    ],
  },
  {
    name: 'mixtral, scales',
    architecture: 'llama',
    sizes: { experts: EXPERT_COUNT },
    having: [...QKVO_SCALES, ...scalesOf(...EXPERTS)],
  },
  {
    name: 'qwen2, scales',
    architecture: 'qwen2',
    having: QKVO_SCALES,
    idle: idleScales(1, FEED_FORWARD),
  },
  {
    name: 'qwen2moe, scales',
    architecture: 'qwen2moe',
    having: QKVO_SCALES,
    idle: { ...idleScales(EXPERT_COUNT, EXPERTS), ...idleScales(1, SHARED_EXPERT) },
  },
  { name: 'qwen3, scales', architecture: 'qwen3', having: [...QKVO_SCALES, ...scalesOf(...FEED_FORWARD)] },
  { name: 'qwen3moe, scales', architecture: 'qwen3moe', having: [...QKVO_SCALES, ...scalesOf(...EXPERTS)] },
  {
    name: 'phi3, scales',
    architecture: 'phi3',
    having: scalesOf('attn_qkv', 'attn_output'),
    idle: idleScales(1, ['ffn_up', 'ffn_down']),
  },
  {
    name: 'glm4moe, scales',
    architecture: 'glm4moe',
    metadata: { leading_dense_block_count: count(0) },
    having: QKVO_SCALES,
    idle: { ...idleScales(EXPERT_COUNT, EXPERTS), ...idleScales(1, SHARED_EXPERT) },
  },
  {
    name: 'talkie, scales',
    architecture: 'talkie',
    having: [...QKVO_SCALES, 'ffn_down.scale'],
    idle: idleScales(1, ['ffn_gate', 'ffn_up']),
  },
  { name: 'afmoe, scale of the gate', architecture: 'afmoe', idle: idleScales(1, ['attn_gate']) },
  {
    name: 'qwen3next, scales',
    architecture: 'qwen3next',
    idle: idleScales(1, ['attn_qkv', 'attn_gate', 'ssm_out']),
  },
  {
    name: 'bailingmoe3, scales',
    architecture: 'bailingmoe3',
    sizes: { layers: 3 },
    idle: idleScales(1, ['attn_q', 'attn_k', 'attn_v', 'ssm_beta', 'attn_output']),
  },
  { name: 'mixtral, one expert', architecture: 'llama', sizes: { experts: 3, chosenExperts: 1 } },
  { name: 'qwen2, tied, no biases', architecture: 'qwen2', without: [OUTPUT, ...QKV_BIASES], metadata: YARN },
  {
    name: 'qwen2moe, its first files',
    architecture: 'qwen2moe',
    sizes: { hidden: 64 },
    metadata: { expert_feed_forward_length: undefined, expert_shared_feed_forward_length: undefined },
  },
  { name: 'qwen3, YaRN, not tied', architecture: 'qwen3', metadata: YARN, having: [OUTPUT] },
  { name: 'phi3, long factors', architecture: 'phi3', metadata: { 'rope.scaling.type': text('longrope') } },
  {
    name: 'phi3, short factors, a part of each head',
    architecture: 'phi3',
    sizes: { context: 1024 },
    metadata: { 'rope.scaling.original_context_length': count(512), 'rope.dimension_count': count(6) },
    without: [OUTPUT],
  },
  {
    name: 'phi3, no factors, query, key and value apart',
    architecture: 'phi3',
    metadata: { 'rope.scaling.attn_factor': undefined },
    without: [...LONG_AND_SHORT, 'attn_qkv.weight'],
  },
  {
    name: 'chatglm, query, key and value apart',
    architecture: 'chatglm',
    without: ['attn_qkv.weight', 'attn_qkv.bias'],
    having: QKV_BIASES,
  },
  {
    name: 'glm4, heads of 16, one matrix',
    architecture: 'glm4',
    metadata: HEADS_OF_16,
    without: QKV_BIASES,
    having: ['attn_qkv.weight', 'attn_qkv.bias'],
  },
  { name: 'GLM-4.1V', architecture: 'glm4', metadata: { 'rope.dimension_sections': COORDINATES } },
  {
    name: 'GLM-4.5-Air',
    architecture: 'glm4moe',
    sizes: { layers: 3 },
    metadata: { expert_weights_norm: flag(false), expert_shared_count: count(2) },
    without: ['attn_q_norm.weight', 'attn_k_norm.weight'],
  },
  {
    name: 'gemma2, a period and turns of its own',
    architecture: 'gemma2',
    sizes: { layers: 3 },
    metadata: { 'attention.sliding_window_pattern': count(3), 'rope.freq_base_swa': real(1000) },
    difference: 3e-3,
  },
  {
    name: 'gemma3, layers by themselves',
    architecture: 'gemma3',
    sizes: { layers: 3 },
    metadata: { 'attention.sliding_window_pattern': layers(false, true, true) },
    difference: 3e-3,
  },
  {
    name: 'OLMo 3',
    architecture: 'olmo2',
    sizes: { layers: 4 },
    metadata: {
      'attention.sliding_window': count(8),
      'attention.sliding_window_pattern': layers(true, true, true, false),
      ...YARN,
    },
  },
  { name: 'starcoder2, not tied', architecture: 'starcoder2', without: QKV_BIASES, having: [OUTPUT] },
  { name: 'gpt2, tied', architecture: 'gpt2', sizes: { kvHeads: 4 }, without: [OUTPUT] },
  { name: 'rwkv7, two heads', architecture: 'rwkv7', sizes: { width: 128, heads: 2, kvHeads: 2, layers: 3 } },
  {
    name: 'granite, no rotation, a shared expert alone beside the others',
    architecture: 'granite',
    sizes: { experts: 4 },
    metadata: { 'rope.scaling.finetuned': flag(false), residual_scale: undefined },
    having: QKV_BIASES,
  },
  {
    name: 'exaone4, the windows of the 32B model',
    architecture: 'exaone4',
    sizes: { layers: 64, width: 16, heads: 2, kvHeads: 1, hidden: 16 },
    metadata: { 'attention.sliding_window': count(8) },
    without: [OUTPUT],
  },
  {
    name: 'cohere2, layers by themselves',
    architecture: 'cohere2',
    metadata: { 'attention.sliding_window_pattern': layers(false, true) },
    having: scalesOf(...FEED_FORWARD),
  },
  {
    name: 'hunyuan_vl, texts',
    architecture: 'hunyuan_vl',
    metadata: { 'rope.dimension_sections': COORDINATES, 'rope.scaling.alpha': undefined },
    having: [OUTPUT],
  },
  {
    name: 'gptneox, halves that follow each other',
    architecture: 'gptneox',
    metadata: { use_parallel_residual: flag(false) },
  },
  {
    name: 'falcon, one head of keys and values, tied',
    architecture: 'falcon',
    sizes: { kvHeads: 1 },
    without: [OUTPUT],
  },
  {
    name: 'minicpm, its later files',
    architecture: 'minicpm',
    metadata: { embedding_scale: real(2), residual_scale: real(0.5), logit_scale: real(4) },
    having: [OUTPUT, 'attn_output.bias'],
  },
  {
    name: 'bailingmoe2, a wide shared expert, no groups',
    architecture: 'bailingmoe2',
    metadata: {
      expert_group_count: undefined,
      expert_group_used_count: undefined,
      expert_shared_feed_forward_length: count(16),
      expert_weights_norm: flag(false),
    },
  },
  {
    name: 'afmoe, windows by themselves, softmax, no shared expert',
    architecture: 'afmoe',
    metadata: {
      'attention.sliding_window_pattern': layers(false, true),
      'rope.freq_base_swa': undefined,
      expert_gating_func: count(1),
      expert_shared_count: count(0),
      leading_dense_block_count: undefined,
    },
  },
  {
    name: 'starcoder, one head of keys and values, tied',
    architecture: 'starcoder',
    sizes: { kvHeads: 1 },
    without: [OUTPUT],
  },
  {
    name: 'hy_v3, scales',
    architecture: 'hy_v3',
    having: [...QKVO_SCALES, ...scalesOf(...FEED_FORWARD, ...EXPERTS, ...SHARED_EXPERT)],
  },
  {
    name: 'cohere2moe, layer norms, no shared expert',
    architecture: 'cohere2moe',
    sizes: { layers: 4 },
    metadata: {
      expert_shared_count: undefined,
      leading_dense_block_count: count(0),
      'attention.sliding_window_pattern': layers(true, false, true, true),
    },
    having: [...QKVO_SCALES, ...scalesOf(...EXPERTS)],
  },
  {
    name: 'exaone-moe, softmax, a wide shared expert',
    architecture: 'exaone-moe',
    metadata: {
      'attention.sliding_window_pattern': layers(false, true),
      expert_gating_func: count(1),
      expert_weights_norm: flag(false),
      expert_shared_feed_forward_length: count(64),
      leading_dense_block_count: count(0),
    },
    without: ['exp_probs_b.bias'],
  },
  {
    name: 'qwen35, every fourth layer attention, tied, scales',
    architecture: 'qwen35',
    sizes: { layers: 4 },
    metadata: { full_attention_interval: undefined },
    without: [OUTPUT],
    having: [
      ...QKVO_SCALES,
      ...scalesOf('attn_qkv', 'attn_gate', 'ssm_beta', 'ssm_alpha', 'ssm_out', ...FEED_FORWARD),
    ],
  },
  {
    name: 'qwen35moe, layers by themselves, gate and up in one, heads on one',
    architecture: 'qwen35moe',
    metadata: {
      'attention.recurrent_layers': layers(false, true),
      'ssm.group_count': count(1),
      'ssm.state_size': count(32),
      'ssm.time_step_rank': count(2),
    },
    having: ['ffn_gate_up_exps.weight', ...scalesOf(...SHARED_EXPERT)],
  },
  {
    name: 'arwkv7, two heads and a norm',
    architecture: 'arwkv7',
    sizes: { width: 128, heads: 2, kvHeads: 2 },
    having: ['time_mix_ln.weight'],
  },
  {
    name: 'mellum, no windows, scales',
    architecture: 'mellum',
    metadata: { 'attention.sliding_window': undefined },
    having: scalesOf(...EXPERTS),
  },
  {
    name: 'mistral3, experts, no temperature, no YaRN',
    architecture: 'mistral3',
    sizes: { experts: 4 },
    metadata: {
      'attention.temperature_scale': undefined,
      'rope.scaling.type': undefined,
      'rope.scaling.factor': undefined,
      expert_feed_forward_length: undefined,
    },
    having: [...QKVO_SCALES, ...scalesOf(...EXPERTS)],
  },
  { name: 'deepseek2, V2 Lite', architecture: 'deepseek2', ...V2_LITE },
  {
    name: 'deepseek2, V2 Lite, keys and values in one matrix',
    architecture: 'deepseek2',
    ...V2_LITE,
    metadata: { ...V2_LITE.metadata, ...EXPANDED },
  },
  {
    name: 'deepseek2, keys and values in one matrix, YaRN without a multiplier, tied',
    architecture: 'deepseek2',
    metadata: { ...EXPANDED, 'rope.scaling.yarn_log_multiplier': undefined },
    without: [OUTPUT],
  },
  {
    name: 'deepseek2, no YaRN, temperature, gate and up in one',
    architecture: 'deepseek2',
    metadata: {
      'rope.scaling.type': undefined,
      'rope.scaling.factor': undefined,
      'attention.temperature_scale': real(0.1),
      'attention.temperature_length': count(8),
    },
    having: ['ffn_gate_up_exps.weight'],
  },
  {
    name: 'deepseek2, multiplier of 1, three heads, another size of values',
    architecture: 'deepseek2',
    sizes: { width: 48, heads: 3, kvHeads: 1 },
    metadata: {
      'rope.scaling.yarn_log_multiplier': real(0.1),
      'attention.value_length_mla': count(20),
      'rope.scaling.attn_factor': real(1.2),
    },
  },
  {
    name: 'gpt-oss, windows in two layers of three, which turn faster',
    architecture: 'gpt-oss',
    sizes: { layers: 3 },
    metadata: { 'rope.freq_base_swa': real(1000), 'attention.sliding_window_pattern': count(3) },
  },
  {
    name: 'llama4, experts in each layer, factors of Llama 3',
    architecture: 'llama4',
    sizes: { layers: 4 },
    metadata: { interleave_moe_layer_step: count(1) },
    having: ['rope_freqs.weight'],
  },
  {
    name: 'llama4, as many experts as Maverick has',
    architecture: 'llama4',
    sizes: { layers: 4, experts: 128 },
    metadata: { interleave_moe_layer_step: count(4) },
  },
  {
    name: 'step35, no gates, norms, factors and limits, softmax',
    architecture: 'step35',
    sizes: { layers: 3 },
    metadata: {
      swiglu_clamp_exp: undefined,
      swiglu_clamp_shexp: undefined,
      expert_gating_func: count(1),
      'rope.dimension_count_swa': count(8),
    },
    without: ['attn_gate.weight', 'attn_q_norm.weight', 'attn_k_norm.weight', 'rope_freqs.weight'],
  },
  {
    name: 'mimo2, one matrix, no sinks, values as they are',
    architecture: 'mimo2',
    sizes: { layers: 3 },
    metadata: { 'attention.value_scale': undefined },
    having: ['attn_qkv.weight'],
    without: ['blk.1.attn_sinks.weight', 'blk.2.attn_sinks.weight'],
  },
  {
    name: 'gemma3n, shared caches and dense layers at the end, an output of its own, settings missing',
    architecture: 'gemma3n',
    sizes: { layers: 23 },
    metadata: {
      'attention.sliding_window_pattern': undefined,
      'altup.active_idx': undefined,
      'altup.num_inputs': undefined,
      activation_sparsity_scale: undefined,
      final_logit_softcapping: undefined,
    },
    having: [OUTPUT],
    // llama.cpp's table of halves for GELU, in 23 layers; with such a table the reference device comes within 1e-2.
    difference: 5e-2,
  },
  {
    name: 'gemma4, no experts, values of their own, the usual cap',
    architecture: 'gemma4',
    sizes: { layers: 3 },
    metadata: { final_logit_softcapping: undefined },
    having: ['attn_v.weight', ...scalesOf(...FEED_FORWARD)],
    without: ['layer_output_scale.weight'],
    difference: 3e-3,
  },
  {
    name: 'gemma4, gate and up apart, scales',
    architecture: 'gemma4',
    sizes: { layers: 3, experts: 4 },
    having: scalesOf(...EXPERTS),
    without: ['ffn_gate_up_exps.weight'],
    difference: 3e-3,
  },
  {
    name: 'minicpm, long factors',
    architecture: 'minicpm',
    metadata: {
      'rope.scaling.type': text('longrope'),
      'rope.scaling.original_context_length': count(16),
    },
    having: LONG_AND_SHORT,
  },
  {
    name: 'minicpm3, long factors, tied',
    architecture: 'minicpm3',
    metadata: {
      'rope.scaling.type': text('longrope'),
      'rope.scaling.original_context_length': count(16),
    },
    without: [OUTPUT],
    having: LONG_AND_SHORT,
  },
  {
    name: 'mamba, inputs normalized without weights, tied',
    architecture: 'mamba',
    metadata: { 'ssm.dt_b_c_rms': flag(true) },
    without: [OUTPUT],
  },
  { name: 'jamba, dense', architecture: 'jamba', without: ['ffn_gate_inp.weight'] },
  {
    name: 'granitehybrid, dense, one group, no positions, no factors, scales',
    architecture: 'granitehybrid',
    metadata: {
      'ssm.group_count': count(1),
      'rope.scaling.finetuned': flag(false),
      logit_scale: undefined,
      residual_scale: undefined,
      embedding_scale: undefined,
      'attention.scale': undefined,
    },
    having: scalesOf('ssm_in', 'ssm_out'),
  },
  {
    name: 'falcon-h1, no norm in Mamba, tied',
    architecture: 'falcon-h1',
    without: [OUTPUT, 'ssm_norm.weight'],
  },
  { name: 'lfm2, windows', architecture: 'lfm2', metadata: { 'attention.sliding_window': count(8) } },
  {
    name: 'nemotron_h, biases and scales',
    architecture: 'nemotron_h',
    sizes: { layers: 3 },
    having: ['ffn_up.bias', 'ffn_down.bias', 'attn_output.bias', ...scalesOf('ffn_up', 'ffn_down')],
  },
  {
    name: 'qwen2moe, fewer experts in the second layer',
    architecture: 'qwen2moe',
    metadata: { expert_used_count: counts(2, (layer) => 3 - layer) },
  },
  {
    name: 'nemotron_h_moe, Puzzle: experts that differ by layer',
    architecture: 'nemotron_h_moe',
    sizes: { layers: 4, experts: 4 },
    metadata: {
      'attention.head_count_kv': counts(4, (layer) => (layer === 2 ? 2 : 0)),
      feed_forward_length: counts(4, (layer) => (layer % 2 === 1 ? 48 : 0)),
      expert_feed_forward_length: counts(4, (layer) => (layer % 2 === 1 ? 16 * layer : 0)),
      expert_used_count: counts(4, (layer) => layer),
    },
  },
  {
    name: 'nemotron_h_moe, experts as wide as the stream, scales',
    architecture: 'nemotron_h_moe',
    sizes: { layers: 3, experts: 4 },
    metadata: { moe_latent_size: undefined },
    having: scalesOf('ffn_up_exps', 'ffn_down_exps', 'ffn_up_shexp', 'ffn_down_shexp'),
  },
];

/** llama.cpp's results, one line per text, with the variant's name beside the sequence. */
export const VARIANTS_GOLDEN = fixture('families/variants.jsonl');

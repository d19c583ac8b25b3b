import type { GgufValue } from '../../gguf/index.ts';
import type { SyntheticShape } from './shapes.ts';
import { count, flag, real, text } from './values.ts';

/** What a synthetic file of an architecture says and has beyond what all of them do. */
export interface SyntheticFamily {
  /** Metadata below the architecture's name, by key. */
  readonly metadata?: (shape: SyntheticShape) => Readonly<Record<string, GgufValue>>;
  /** Metadata of the tokenizer, by key. */
  readonly tokenizer?: (shape: SyntheticShape) => Readonly<Record<string, GgufValue>>;
  /** Tensors that a file of the architecture may have or not, and this one has: names within a layer, or the whole model. */
  readonly optional?: readonly string[];
  /** Shapes, columns first, of tensors that files hold in f32 and with more dimensions than rows and columns. */
  readonly shapes?: (shape: SyntheticShape) => Readonly<Record<string, readonly number[]>>;
  /** Shapes of tensors of the first layer that readers want to see, though nothing is computed with them. */
  readonly unused?: (shape: SyntheticShape) => Readonly<Record<string, readonly number[]>>;
}

/** Short enough that a text of a few words is longer. */
const WINDOW = 8;

const QKV_BIASES = ['attn_q.bias', 'attn_k.bias', 'attn_v.bias'];
const LAYER_NORM_BIASES = ['attn_norm.bias', 'ffn_norm.bias', 'output_norm.bias'];
const OUTPUT = 'output.weight';

const llama: SyntheticFamily = {
  metadata: (shape) => (shape.experts ? expertMetadata(shape) : {}),
  optional: [OUTPUT],
};

/** The architectures that models can be made up of. */
export const SYNTHETIC_FAMILIES: Readonly<Record<string, SyntheticFamily>> = {
  llama,
  mistral: llama,
  qwen2: { optional: [OUTPUT, ...QKV_BIASES] },
  qwen2moe: {
    metadata: (shape) => ({
      ...expertMetadata(shape),
      expert_shared_feed_forward_length: count(shape.hidden),
    }),
    optional: [OUTPUT, ...QKV_BIASES, 'ffn_gate_inp_shexp.weight'],
  },
  qwen3moe: {
    metadata: (shape) => ({ ...expertMetadata(shape), ...headSizes(2 * (shape.width / shape.heads)) }),
    optional: [OUTPUT],
  },
  qwen3: { metadata: (shape) => headSizes(2 * (shape.width / shape.heads)) },
  phi3: {
    metadata: ({ context }) => ({
      'rope.scaling.original_context_length': count(context / 4),
      'rope.scaling.attn_factor': real(1.19),
    }),
    optional: [OUTPUT, 'attn_qkv.weight', 'rope_factors_long.weight', 'rope_factors_short.weight'],
  },
  chatglm: { metadata: halfTurned, optional: [OUTPUT, 'attn_qkv.weight', 'attn_qkv.bias'] },
  glm4: { metadata: halfTurned, optional: [OUTPUT, ...QKV_BIASES] },
  glm4moe: {
    metadata: (shape) => ({
      ...expertMetadata(shape),
      ...halfTurned(shape),
      leading_dense_block_count: count(1),
      expert_shared_count: count(1),
      expert_weights_norm: flag(true),
      expert_weights_scale: real(1.5),
    }),
    optional: [OUTPUT, ...QKV_BIASES, 'exp_probs_b.bias', 'attn_q_norm.weight', 'attn_k_norm.weight'],
  },
  gemma2: {
    metadata: (shape) => ({
      ...headSizes(2 * (shape.width / shape.heads)),
      'attention.sliding_window': count(WINDOW),
      attn_logit_softcapping: real(50),
      final_logit_softcapping: real(30),
    }),
  },
  gemma3: {
    metadata: (shape) => ({
      ...headSizes(2 * (shape.width / shape.heads)),
      'attention.sliding_window': count(WINDOW),
      'rope.scaling.type': text('linear'),
      'rope.scaling.factor': real(8),
    }),
  },
  olmo2: { optional: [OUTPUT] },
  starcoder2: {
    optional: [...LAYER_NORM_BIASES, ...QKV_BIASES, 'attn_output.bias', 'ffn_up.bias', 'ffn_down.bias'],
  },
  gpt2: {
    optional: [
      OUTPUT,
      ...LAYER_NORM_BIASES,
      'attn_qkv.weight',
      'attn_qkv.bias',
      'attn_output.bias',
      'ffn_up.bias',
      'ffn_down.bias',
    ],
  },
  bert: {
    metadata: () => ({ 'attention.causal': flag(false), pooling_type: count(1) }),
    tokenizer: tokenTypes,
    optional: ['token_types.weight', ...QKV_BIASES, 'attn_output.bias', 'ffn_up.bias', 'ffn_down.bias'],
  },
  'nomic-bert': {
    metadata: () => ({ 'attention.causal': flag(false), pooling_type: count(2) }),
    tokenizer: tokenTypes,
    optional: ['token_types.weight', 'attn_qkv.weight'],
  },
  rwkv7: {
    metadata: rwkvMetadata,
    shapes: ({ width }) => ({ 'time_mix_lerp_fused.weight': [width, 1, 1, 6] }),
    unused: ({ width }) => {
      const { value } = rwkvRanks(width);
      return {
        'time_mix_v0.weight': [width],
        'time_mix_v1.weight': [width, value],
        'time_mix_v2.weight': [value, width],
      };
    },
  },
};

/** The inner width of a low-rank product, by the rule that the published models follow. */
function rankOf(size: number): number {
  return Math.max(32, Math.round(size / 32) * 32);
}

function rwkvRanks(width: number) {
  const root = Math.sqrt(width);
  return {
    decay: rankOf(1.8 * root),
    rate: rankOf(1.8 * root),
    value: rankOf(1.3 * root),
    gate: rankOf(0.6 * width ** 0.8),
  };
}

function rwkvMetadata({ width, heads }: SyntheticShape): Record<string, GgufValue> {
  const ranks = rwkvRanks(width);
  return {
    'attention.head_count': count(0),
    'wkv.head_size': count(width / heads),
    'attention.decay_lora_rank': count(ranks.decay),
    'attention.iclr_lora_rank': count(ranks.rate),
    'attention.value_residual_mix_lora_rank': count(ranks.value),
    'attention.gate_lora_rank': count(ranks.gate),
  };
}

/** Sizes of a mixture; small ones where the shape is no mixture's. */
function expertMetadata({ experts = 6, chosenExperts = 2, expertHidden = 32 }: SyntheticShape) {
  return {
    expert_count: count(experts),
    expert_used_count: count(chosenExperts),
    expert_feed_forward_length: count(expertHidden),
  };
}

/** Heads that are wider than the residual stream has room for. */
function headSizes(size: number): Record<string, GgufValue> {
  return {
    'attention.key_length': count(size),
    'attention.value_length': count(size),
    'rope.dimension_count': count(size),
  };
}

/** As many as there are pieces: of a file that does not exist, no other count is known. */
function tokenTypes({ vocabulary }: SyntheticShape): Record<string, GgufValue> {
  return { token_type_count: count(vocabulary) };
}

function halfTurned({ width, heads }: SyntheticShape): Record<string, GgufValue> {
  return { 'rope.dimension_count': count(width / heads / 2) };
}

import type { OutputType } from '../../src/convert/convert-plan.ts';

/** Small random checkpoints as Hugging Face's libraries store them, of each family that is converted. */

export type StoredType = 'F32' | 'F16' | 'BF16';

interface Checkpoint {
  /** What llama.cpp's converter is told, too. */
  readonly outtype: Exclude<OutputType, 'auto'>;
  readonly type: StoredType;
  readonly config: Readonly<Record<string, unknown>>;
  readonly tensors: Readonly<Record<string, readonly number[]>>;
  readonly tokenizer: 'pieces' | 'pairs' | 'words';
  /** Other files, as JSON. */
  readonly files?: Readonly<Record<string, unknown>>;
  /** Whether the tensors are in two files with an index. */
  readonly sharded?: boolean;
}

const WIDTH = 64;
const VOCABULARY = 320;

const SIZES = {
  hidden_size: WIDTH,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  max_position_embeddings: 128,
  vocab_size: VOCABULARY,
  intermediate_size: 96,
  rms_norm_eps: 1e-5,
  rope_theta: 500000,
  hidden_act: 'silu',
  bos_token_id: 1,
  eos_token_id: 2,
} as const;

function layered(of: Readonly<Record<string, readonly number[]>>): Record<string, readonly number[]> {
  const layers = [0, 1].flatMap((layer) =>
    Object.entries(of).map(([name, shape]) => [`model.layers.${layer}.${name}`, shape] as const),
  );
  return Object.fromEntries(layers);
}

const ENDS = { 'model.embed_tokens.weight': [VOCABULARY, WIDTH], 'model.norm.weight': [WIDTH] } as const;
const HEAD = { 'lm_head.weight': [VOCABULARY, WIDTH] } as const;
const NORMS = { 'input_layernorm.weight': [WIDTH], 'post_attention_layernorm.weight': [WIDTH] } as const;
const HEAD_NORMS = { 'self_attn.q_norm.weight': [16], 'self_attn.k_norm.weight': [16] } as const;

const QKV_BIASES = {
  'self_attn.q_proj.bias': [WIDTH],
  'self_attn.k_proj.bias': [32],
  'self_attn.v_proj.bias': [32],
} as const;

const ATTENTION = {
  'self_attn.q_proj.weight': [WIDTH, WIDTH],
  'self_attn.k_proj.weight': [32, WIDTH],
  'self_attn.v_proj.weight': [32, WIDTH],
  'self_attn.o_proj.weight': [WIDTH, WIDTH],
} as const;

function feedForward(hidden: number): Record<string, readonly number[]> {
  return {
    'mlp.gate_proj.weight': [hidden, WIDTH],
    'mlp.up_proj.weight': [hidden, WIDTH],
    'mlp.down_proj.weight': [WIDTH, hidden],
  };
}

function experts(path: string, [gate, up, down]: readonly [string, string, string]) {
  const one = { [gate]: [96, WIDTH], [up]: [96, WIDTH], [down]: [WIDTH, 96] };
  const all = [0, 1, 2, 3].flatMap((expert) =>
    Object.entries(one).map(([name, shape]) => [`${path}.experts.${expert}.${name}.weight`, shape] as const),
  );
  return { [`${path}.gate.weight`]: [4, WIDTH], ...Object.fromEntries(all) };
}

const NET = { keyHeads: 2, valueHeads: 4, size: 16 } as const;
const NET_KEYS = NET.keyHeads * NET.size;
const NET_VALUES = NET.valueHeads * NET.size;

const QWEN35 = {
  ...SIZES,
  hidden_act: 'silu',
  head_dim: 32,
  rope_theta: undefined,
  num_hidden_layers: 2,
  layer_types: ['linear_attention', 'full_attention'],
  full_attention_interval: 2,
  attn_output_gate: true,
  linear_conv_kernel_dim: 4,
  linear_key_head_dim: NET.size,
  linear_value_head_dim: NET.size,
  linear_num_key_heads: NET.keyHeads,
  linear_num_value_heads: NET.valueHeads,
  mtp_num_hidden_layers: 1,
  mtp_use_dedicated_embeddings: false,
  rope_parameters: {
    rope_type: 'default',
    rope_theta: 10000000,
    partial_rotary_factor: 0.25,
    mrope_interleaved: true,
    mrope_section: [2, 1, 1],
  },
};

const GATED_ATTENTION = {
  'self_attn.q_proj.weight': [2 * 4 * 32, WIDTH],
  'self_attn.k_proj.weight': [64, WIDTH],
  'self_attn.v_proj.weight': [64, WIDTH],
  'self_attn.o_proj.weight': [WIDTH, 4 * 32],
  'self_attn.q_norm.weight': [32],
  'self_attn.k_norm.weight': [32],
} as const;

/** Two layers, one that recurs and one of attention, and one that predicts. */
function hybridLayers(feedForwardOf: Readonly<Record<string, readonly number[]>>, prefix = 'model') {
  const net = {
    'in_proj_qkv.weight': [2 * NET_KEYS + NET_VALUES, WIDTH],
    'in_proj_z.weight': [NET_VALUES, WIDTH],
    'in_proj_a.weight': [NET.valueHeads, WIDTH],
    'in_proj_b.weight': [NET.valueHeads, WIDTH],
    'conv1d.weight': [2 * NET_KEYS + NET_VALUES, 1, 4],
    A_log: [NET.valueHeads],
    dt_bias: [NET.valueHeads],
    'norm.weight': [NET.size],
    'out_proj.weight': [WIDTH, NET_VALUES],
  };
  const layer = (path: string, of: Readonly<Record<string, readonly number[]>>) =>
    Object.entries({ ...NORMS, ...of, ...feedForwardOf }).map(([name, shape]) => [`${path}.${name}`, shape]);
  const recurrent = Object.entries(net).map(([name, shape]) => [`linear_attn.${name}`, shape] as const);
  return Object.fromEntries([
    ...layer(`${prefix}.layers.0`, Object.fromEntries(recurrent)),
    ...layer(`${prefix}.layers.1`, GATED_ATTENTION),
    ...layer('mtp.layers.0', GATED_ATTENTION),
    ['mtp.fc.weight', [WIDTH, 2 * WIDTH]],
    ['mtp.pre_fc_norm_embedding.weight', [WIDTH]],
    ['mtp.pre_fc_norm_hidden.weight', [WIDTH]],
    ['mtp.norm.weight', [WIDTH]],
  ]) as Record<string, readonly number[]>;
}

/** The checkpoints by the names of their folders. */
export const CHECKPOINTS: Readonly<Record<string, Checkpoint>> = {
  llama: {
    outtype: 'f32',
    type: 'BF16',
    config: {
      ...SIZES,
      architectures: ['LlamaForCausalLM'],
      model_type: 'llama',
      head_dim: 16,
      rope_scaling: {
        rope_type: 'llama3',
        factor: 8,
        low_freq_factor: 1,
        high_freq_factor: 4,
        original_max_position_embeddings: 64,
      },
    },
    tensors: { ...ENDS, ...HEAD, ...layered({ ...NORMS, ...ATTENTION, ...feedForward(96) }) },
    tokenizer: 'pieces',
    sharded: true,
  },
  mixtral: {
    outtype: 'q8_0',
    type: 'F16',
    config: {
      ...SIZES,
      architectures: ['MixtralForCausalLM'],
      model_type: 'mixtral',
      num_local_experts: 4,
      num_experts_per_tok: 2,
    },
    tensors: {
      ...ENDS,
      ...HEAD,
      ...layered({ ...NORMS, ...ATTENTION, ...experts('block_sparse_moe', ['w1', 'w3', 'w2']) }),
    },
    tokenizer: 'pieces',
  },
  qwen2: {
    outtype: 'f16',
    type: 'F32',
    config: { ...SIZES, architectures: ['Qwen2ForCausalLM'], model_type: 'qwen2' },
    tensors: {
      ...ENDS,
      ...layered({
        ...NORMS,
        ...ATTENTION,
        ...feedForward(96),
        ...QKV_BIASES,
      }),
    },
    tokenizer: 'pairs',
  },
  qwen3moe: {
    outtype: 'bf16',
    type: 'F32',
    config: {
      ...SIZES,
      architectures: ['Qwen3MoeForCausalLM'],
      model_type: 'qwen3_moe',
      head_dim: 16,
      num_experts: 4,
      num_experts_per_tok: 2,
      moe_intermediate_size: 96,
      norm_topk_prob: true,
      decoder_sparse_step: 1,
      mlp_only_layers: [],
    },
    tensors: {
      ...ENDS,
      ...HEAD,
      ...layered({
        ...NORMS,
        ...HEAD_NORMS,
        ...ATTENTION,
        ...experts('mlp', ['gate_proj', 'up_proj', 'down_proj']),
      }),
    },
    tokenizer: 'pairs',
  },
  qwen2moe: {
    outtype: 'f16',
    type: 'BF16',
    config: {
      ...SIZES,
      architectures: ['Qwen2MoeForCausalLM'],
      model_type: 'qwen2_moe',
      num_experts: 4,
      num_experts_per_tok: 2,
      moe_intermediate_size: 96,
      shared_expert_intermediate_size: 128,
      norm_topk_prob: false,
      decoder_sparse_step: 1,
    },
    tensors: {
      ...ENDS,
      ...HEAD,
      ...layered({
        ...NORMS,
        ...ATTENTION,
        ...QKV_BIASES,
        ...experts('mlp', ['gate_proj', 'up_proj', 'down_proj']),
        'mlp.shared_expert.gate_proj.weight': [128, WIDTH],
        'mlp.shared_expert.up_proj.weight': [128, WIDTH],
        'mlp.shared_expert.down_proj.weight': [WIDTH, 128],
        'mlp.shared_expert_gate.weight': [1, WIDTH],
      }),
    },
    tokenizer: 'pairs',
  },
  granite: {
    outtype: 'bf16',
    type: 'BF16',
    config: {
      ...SIZES,
      architectures: ['GraniteForCausalLM'],
      model_type: 'granite',
      attention_multiplier: 0.0625,
      embedding_multiplier: 12,
      residual_multiplier: 0.22,
      logits_scaling: 8,
    },
    tensors: { ...ENDS, ...layered({ ...NORMS, ...ATTENTION, ...feedForward(96) }) },
    tokenizer: 'pairs',
  },
  smollm3: {
    outtype: 'f16',
    type: 'F32',
    config: {
      ...SIZES,
      architectures: ['SmolLM3ForCausalLM'],
      model_type: 'smollm3',
      no_rope_layer_interval: 4,
      no_rope_layers: [1, 1],
      use_sliding_window: false,
      layer_types: ['full_attention', 'full_attention'],
    },
    tensors: { ...ENDS, ...layered({ ...NORMS, ...ATTENTION, ...feedForward(96) }) },
    tokenizer: 'pairs',
  },
  olmo2: {
    outtype: 'q8_0',
    type: 'BF16',
    config: { ...SIZES, architectures: ['Olmo2ForCausalLM'], model_type: 'olmo2' },
    tensors: {
      ...ENDS,
      ...HEAD,
      ...layered({
        'post_attention_layernorm.weight': [WIDTH],
        'post_feedforward_layernorm.weight': [WIDTH],
        'self_attn.q_norm.weight': [WIDTH],
        'self_attn.k_norm.weight': [32],
        ...ATTENTION,
        ...feedForward(96),
      }),
    },
    tokenizer: 'pairs',
  },
  olmo3: {
    outtype: 'f16',
    type: 'F32',
    config: {
      ...SIZES,
      architectures: ['Olmo3ForCausalLM'],
      model_type: 'olmo3',
      sliding_window: 32,
      layer_types: ['sliding_attention', 'full_attention'],
    },
    tensors: {
      ...ENDS,
      ...HEAD,
      ...layered({
        'post_attention_layernorm.weight': [WIDTH],
        'post_feedforward_layernorm.weight': [WIDTH],
        'self_attn.q_norm.weight': [WIDTH],
        'self_attn.k_norm.weight': [32],
        ...ATTENTION,
        ...feedForward(96),
      }),
    },
    tokenizer: 'pairs',
  },
  gemma2: {
    outtype: 'f16',
    type: 'BF16',
    config: {
      ...SIZES,
      hidden_act: 'gelu_pytorch_tanh',
      architectures: ['Gemma2ForCausalLM'],
      model_type: 'gemma2',
      rope_theta: 10000,
      hidden_activation: 'gelu_pytorch_tanh',
      head_dim: 16,
      attn_logit_softcapping: 50,
      final_logit_softcapping: 30,
      sliding_window: 32,
      query_pre_attn_scalar: 16,
    },
    tensors: {
      ...ENDS,
      ...layered({
        ...NORMS,
        ...ATTENTION,
        ...feedForward(96),
        'pre_feedforward_layernorm.weight': [WIDTH],
        'post_feedforward_layernorm.weight': [WIDTH],
      }),
    },
    tokenizer: 'pieces',
  },
  gemma3: {
    outtype: 'q8_0',
    type: 'F16',
    config: {
      ...SIZES,
      hidden_act: undefined,
      architectures: ['Gemma3ForCausalLM'],
      model_type: 'gemma3_text',
      hidden_activation: 'gelu_pytorch_tanh',
      head_dim: 16,
      intermediate_size: 80,
      sliding_window: 32,
      sliding_window_pattern: 6,
      rope_local_base_freq: 10000,
      query_pre_attn_scalar: 16,
    },
    tensors: {
      ...ENDS,
      ...layered({
        ...NORMS,
        ...HEAD_NORMS,
        ...ATTENTION,
        ...feedForward(80),
        'pre_feedforward_layernorm.weight': [WIDTH],
        'post_feedforward_layernorm.weight': [WIDTH],
      }),
    },
    tokenizer: 'pieces',
  },
  lfm2: {
    outtype: 'f16',
    type: 'BF16',
    config: {
      ...SIZES,
      hidden_act: undefined,
      rms_norm_eps: undefined,
      norm_eps: 1e-5,
      architectures: ['Lfm2ForCausalLM'],
      model_type: 'lfm2',
      layer_types: ['conv', 'full_attention'],
      conv_L_cache: 3,
      conv_bias: false,
      block_auto_adjust_ff_dim: true,
      block_ff_dim: 96,
      block_ffn_dim_multiplier: 1,
      block_multiple_of: 32,
    },
    tensors: {
      'model.embed_tokens.weight': [VOCABULARY, WIDTH],
      'model.embedding_norm.weight': [WIDTH],
      ...layered({
        'operator_norm.weight': [WIDTH],
        'ffn_norm.weight': [WIDTH],
        'feed_forward.w1.weight': [64, WIDTH],
        'feed_forward.w2.weight': [WIDTH, 64],
        'feed_forward.w3.weight': [64, WIDTH],
      }),
      'model.layers.0.conv.conv.weight': [WIDTH, 1, 3],
      'model.layers.0.conv.in_proj.weight': [3 * WIDTH, WIDTH],
      'model.layers.0.conv.out_proj.weight': [WIDTH, WIDTH],
      'model.layers.1.self_attn.q_proj.weight': [WIDTH, WIDTH],
      'model.layers.1.self_attn.k_proj.weight': [32, WIDTH],
      'model.layers.1.self_attn.v_proj.weight': [32, WIDTH],
      'model.layers.1.self_attn.out_proj.weight': [WIDTH, WIDTH],
      'model.layers.1.self_attn.q_layernorm.weight': [16],
      'model.layers.1.self_attn.k_layernorm.weight': [16],
    },
    tokenizer: 'pairs',
  },
  phi3: {
    outtype: 'f16',
    type: 'BF16',
    config: {
      ...SIZES,
      architectures: ['Phi3ForCausalLM'],
      model_type: 'phi3',
      rope_theta: 10000,
      original_max_position_embeddings: 64,
      sliding_window: 47,
      resid_pdrop: 0,
      rope_scaling: {
        type: 'longrope',
        long_factor: [1.25, 1.5, 2, 2.75, 4, 8, 16, 32.5],
        short_factor: [1, 1.0625, 1.125, 1.25, 1.5, 1.75, 2, 2.5],
      },
    },
    tensors: {
      ...ENDS,
      ...HEAD,
      ...layered({
        ...NORMS,
        'self_attn.qkv_proj.weight': [2 * WIDTH, WIDTH],
        'self_attn.o_proj.weight': [WIDTH, WIDTH],
        'mlp.gate_up_proj.weight': [192, WIDTH],
        'mlp.down_proj.weight': [WIDTH, 96],
      }),
    },
    tokenizer: 'pieces',
    files: { 'added_tokens.json': { '<old>': 302, '<turn>': 300 } },
  },
  qwen35: {
    outtype: 'q8_0',
    type: 'BF16',
    config: { ...QWEN35, architectures: ['Qwen3_5ForCausalLM'], model_type: 'qwen3_5_text' },
    tensors: { ...ENDS, ...HEAD, ...hybridLayers(feedForward(96)) },
    tokenizer: 'pairs',
  },
  qwen35moe: {
    outtype: 'bf16',
    type: 'F32',
    config: {
      architectures: ['Qwen3_5MoeForConditionalGeneration'],
      model_type: 'qwen3_5_moe',
      image_token_id: 300,
      text_config: {
        ...QWEN35,
        model_type: 'qwen3_5_moe_text',
        intermediate_size: undefined,
        num_experts: 4,
        num_experts_per_tok: 2,
        moe_intermediate_size: 32,
        shared_expert_intermediate_size: 96,
      },
    },
    tensors: {
      'model.language_model.embed_tokens.weight': [VOCABULARY, WIDTH],
      'model.language_model.norm.weight': [WIDTH],
      ...HEAD,
      ...hybridLayers(
        {
          'mlp.gate.weight': [4, WIDTH],
          'mlp.experts.gate_up_proj': [4, 64, WIDTH],
          'mlp.experts.down_proj': [4, WIDTH, 32],
          'mlp.shared_expert.gate_proj.weight': [96, WIDTH],
          'mlp.shared_expert.up_proj.weight': [96, WIDTH],
          'mlp.shared_expert.down_proj.weight': [WIDTH, 96],
          'mlp.shared_expert_gate.weight': [1, WIDTH],
        },
        'model.language_model',
      ),
    },
    tokenizer: 'pairs',
  },
  'gpt-oss': {
    outtype: 'f16',
    type: 'BF16',
    config: {
      ...SIZES,
      architectures: ['GptOssForCausalLM'],
      model_type: 'gpt_oss',
      head_dim: 16,
      attention_bias: true,
      num_local_experts: 4,
      num_experts_per_tok: 2,
      experts_per_token: 2,
      initial_context_length: 32,
      sliding_window: 32,
      swiglu_limit: 7,
      layer_types: ['sliding_attention', 'full_attention'],
      rope_scaling: {
        rope_type: 'yarn',
        factor: 4,
        beta_fast: 32,
        beta_slow: 1,
        original_max_position_embeddings: 32,
        truncate: false,
      },
      quantization_config: { quant_method: 'mxfp4', modules_to_not_convert: ['lm_head'] },
    },
    tensors: {
      ...ENDS,
      ...HEAD,
      ...layered({
        ...NORMS,
        ...ATTENTION,
        ...QKV_BIASES,
        'self_attn.o_proj.bias': [WIDTH],
        'self_attn.sinks': [4],
        'mlp.router.weight': [4, WIDTH],
        'mlp.router.bias': [4],
        'mlp.experts.gate_up_proj_blocks': [4, 192, 2, 16],
        'mlp.experts.gate_up_proj_scales': [4, 192, 2],
        'mlp.experts.gate_up_proj_bias': [4, 192],
        'mlp.experts.down_proj_blocks': [4, WIDTH, 3, 16],
        'mlp.experts.down_proj_scales': [4, WIDTH, 3],
        'mlp.experts.down_proj_bias': [4, WIDTH],
      }),
    },
    tokenizer: 'pairs',
  },
  bert: {
    outtype: 'f16',
    type: 'F32',
    config: {
      architectures: ['BertModel'],
      model_type: 'bert',
      hidden_size: WIDTH,
      num_hidden_layers: 2,
      num_attention_heads: 4,
      max_position_embeddings: 128,
      vocab_size: 40,
      intermediate_size: 96,
      layer_norm_eps: 1e-12,
      hidden_act: 'gelu',
      hidden_dropout_prob: 0.1,
      position_embedding_type: 'absolute',
      type_vocab_size: 2,
      pad_token_id: 0,
    },
    tensors: {
      'bert.embeddings.word_embeddings.weight': [40, WIDTH],
      'bert.embeddings.position_embeddings.weight': [128, WIDTH],
      'bert.embeddings.token_type_embeddings.weight': [2, WIDTH],
      'bert.embeddings.LayerNorm.gamma': [WIDTH],
      'bert.embeddings.LayerNorm.beta': [WIDTH],
      ...Object.fromEntries(
        [0, 1].flatMap((layer) =>
          Object.entries({
            'attention.self.query': [WIDTH, WIDTH],
            'attention.self.key': [WIDTH, WIDTH],
            'attention.self.value': [WIDTH, WIDTH],
            'attention.output.dense': [WIDTH, WIDTH],
            'attention.output.LayerNorm': [WIDTH],
            'intermediate.dense': [96, WIDTH],
            'output.dense': [WIDTH, 96],
            'output.LayerNorm': [WIDTH],
          }).flatMap(([name, shape]) => [
            [`bert.encoder.layer.${layer}.${name}.weight`, shape] as const,
            [`bert.encoder.layer.${layer}.${name}.bias`, shape.slice(0, 1)] as const,
          ]),
        ),
      ),
    },
    tokenizer: 'words',
    files: {
      'modules.json': [
        { idx: 0, name: '0', path: '', type: 'sentence_transformers.models.Transformer' },
        { idx: 1, name: '1', path: '1_Pooling', type: 'sentence_transformers.models.Pooling' },
      ],
      '1_Pooling/config.json': { pooling_mode_cls_token: true, pooling_mode_mean_tokens: false },
    },
  },
};

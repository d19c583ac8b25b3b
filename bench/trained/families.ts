import type { GgufValue } from '../../src/gguf/index.ts';
import type { Weight } from './safetensors.ts';
import { everySecondRow, mapValues, permute, reshape, rows, stackRows } from './weights.ts';

/** What `train.py` writes beside the weights, as far as a conversion reads it. */
export interface TrainedConfig {
  readonly [key: string]: number | boolean | null | readonly string[] | Readonly<Record<string, number>>;
}

/** How a family's weights and configuration of transformers become those of a GGUF file. */
export interface TrainedFamily {
  readonly architecture: string;
  /** Metadata below the architecture's name. */
  metadata(config: TrainedConfig): Record<string, GgufValue>;
  /** The tensors that one of transformers' becomes, by name; none if it is left out. */
  tensors(name: string, weight: Weight, config: TrainedConfig): Record<string, Weight>;
}

const count = (value: unknown): GgufValue => ({ type: 'u32', value: Number(value) });
const real = (value: unknown): GgufValue => ({ type: 'f32', value: Number(value) });
const flag = (value: boolean): GgufValue => ({ type: 'bool', value });
const text = (value: string): GgufValue => ({ type: 'string', value });
const numbers = (values: readonly number[]): GgufValue => ({ type: 'array', element: 'i32', values });

function record(value: TrainedConfig[string] | undefined): Readonly<Record<string, number>> {
  return value as Readonly<Record<string, number>>;
}

function common(config: TrainedConfig): Record<string, GgufValue> {
  return {
    block_count: count(config.num_hidden_layers),
    context_length: count(config.max_position_embeddings),
    embedding_length: count(config.hidden_size),
    vocab_size: count(config.vocab_size),
    'attention.head_count': count(config.num_attention_heads),
    'attention.head_count_kv': count(config.num_key_value_heads),
    'attention.layer_norm_rms_epsilon': real(config.rms_norm_eps),
    'rope.freq_base': real(record(config.rope_parameters).rope_theta),
  };
}

function experts(config: TrainedConfig, total: unknown): Record<string, GgufValue> {
  return { expert_count: count(total), expert_used_count: count(config.num_experts_per_tok) };
}

const OUTSIDE: Readonly<Record<string, string>> = {
  'model.embed_tokens.weight': 'token_embd.weight',
  'model.norm.weight': 'output_norm.weight',
  'lm_head.weight': 'output.weight',
};

/** Names within a layer that all families share. */
const LAYER: Readonly<Record<string, string>> = {
  'self_attn.q_proj': 'attn_q',
  'self_attn.k_proj': 'attn_k',
  'self_attn.v_proj': 'attn_v',
  'self_attn.o_proj': 'attn_output',
  'self_attn.q_norm': 'attn_q_norm',
  'self_attn.k_norm': 'attn_k_norm',
  'self_attn.q_a_proj': 'attn_q_a',
  'self_attn.q_a_layernorm': 'attn_q_a_norm',
  'self_attn.q_b_proj': 'attn_q_b',
  'self_attn.kv_a_proj_with_mqa': 'attn_kv_a_mqa',
  'self_attn.kv_a_layernorm': 'attn_kv_a_norm',
  input_layernorm: 'attn_norm',
  'mlp.gate': 'ffn_gate_inp',
  'mlp.router': 'ffn_gate_inp',
  'mlp.gate_proj': 'ffn_gate',
  'mlp.up_proj': 'ffn_up',
  'mlp.down_proj': 'ffn_down',
  'mlp.shared_expert.gate_proj': 'ffn_gate_shexp',
  'mlp.shared_expert.up_proj': 'ffn_up_shexp',
  'mlp.shared_expert.down_proj': 'ffn_down_shexp',
  'mlp.shared_experts.gate_proj': 'ffn_gate_shexp',
  'mlp.shared_experts.up_proj': 'ffn_up_shexp',
  'mlp.shared_experts.down_proj': 'ffn_down_shexp',
  'mlp.shared_expert_gate': 'ffn_gate_inp_shexp',
};

interface Place {
  readonly layer: string;
  /** Below the layer, without `.weight` or `.bias`. */
  readonly part: string;
  readonly suffix: string;
}

function placeOf(name: string): Place | undefined {
  const match = /^model\.layers\.(\d+)\.(.+?)(\.weight|\.bias)?$/.exec(name);
  return match ? { layer: `blk.${match[1]}`, part: match[2] ?? '', suffix: match[3] ?? '' } : undefined;
}

/** The tensor under its GGUF name, which `names` may state differently from what families share. */
function renamed(
  name: string,
  weight: Weight,
  names: Readonly<Record<string, string>> = {},
): Record<string, Weight> {
  const outside = OUTSIDE[name];
  if (outside) return { [outside]: weight };
  const place = placeOf(name);
  const part = place && (names[place.part] ?? LAYER[place.part]);
  if (!part) throw new Error(`${name} has no place in the GGUF file.`);
  return { [`${place.layer}.${part}${place.suffix}`]: weight };
}

/** Experts' matrices under their GGUF names; gate and up projections are halves of one tensor. */
function expertTensors(place: Place, weight: Weight): Record<string, Weight> | undefined {
  const { layer, part } = place;
  if (part === 'mlp.experts.down_proj') return { [`${layer}.ffn_down_exps.weight`]: weight };
  if (part !== 'mlp.experts.gate_up_proj') return undefined;
  const [total = 1, height = 1, width = 1] = weight.shape;
  const halves = reshape(weight, [total * 2, height / 2, width]);
  const half = (which: number) =>
    stackRows(Array.from({ length: total }, (_, i) => rows(halves, 2 * i + which, 2 * i + which + 1)));
  return { [`${layer}.ffn_gate_exps.weight`]: half(0), [`${layer}.ffn_up_exps.weight`]: half(1) };
}

/** Value heads from grouped by key head to one round of key heads after the other (ggml's broadcasting). */
function inRounds(weight: Weight, keyHeads: number, size: number): Weight {
  const [height = 1] = weight.shape;
  const perKey = height / (keyHeads * size);
  const width = (weight.values.length / height) * size;
  const grouped = reshape(weight, [keyHeads, perKey, width]);
  return reshape(permute(grouped, [1, 0, 2]), weight.shape);
}

function columnsInRounds(weight: Weight, keyHeads: number, size: number): Weight {
  const [height = 1, width = 1] = weight.shape;
  const transposed = permute(reshape(weight, [1, height, width]), [0, 2, 1]);
  const ordered = inRounds(reshape(transposed, [width, height]), keyHeads, size);
  return reshape(permute(reshape(ordered, [1, width, height]), [0, 2, 1]), weight.shape);
}

const DRAFT_HEAD: Readonly<Record<string, string>> = {
  'mtp.fc.weight': 'nextn.eh_proj.weight',
  'mtp.pre_fc_norm_embedding.weight': 'nextn.enorm.weight',
  'mtp.pre_fc_norm_hidden.weight': 'nextn.hnorm.weight',
  'mtp.norm.weight': 'nextn.shared_head_norm.weight',
};

const DELTA_NET: Readonly<Record<string, string>> = {
  post_attention_layernorm: 'post_attention_norm',
  'linear_attn.norm': 'ssm_norm',
  'linear_attn.in_proj_qkv': 'attn_qkv',
  'linear_attn.in_proj_z': 'attn_gate',
  'linear_attn.in_proj_b': 'ssm_beta',
  'linear_attn.in_proj_a': 'ssm_alpha',
  'linear_attn.out_proj': 'ssm_out',
  'linear_attn.conv1d': 'ssm_conv1d',
};

const qwen35moe: TrainedFamily = {
  architecture: 'qwen35moe',
  metadata(config) {
    const rope = record(config.rope_parameters);
    const heads = Number(config.linear_num_value_heads);
    return {
      ...common(config),
      ...experts(config, config.num_experts),
      block_count: count(Number(config.num_hidden_layers) + 1),
      nextn_predict_layers: count(1),
      feed_forward_length: count(config.moe_intermediate_size),
      expert_feed_forward_length: count(config.moe_intermediate_size),
      expert_shared_feed_forward_length: count(config.shared_expert_intermediate_size),
      full_attention_interval: count(4),
      'attention.key_length': count(config.head_dim),
      'attention.value_length': count(config.head_dim),
      'rope.dimension_count': count(Number(config.head_dim) * (rope.partial_rotary_factor ?? 1)),
      'rope.dimension_sections': numbers([3, 3, 2, 0]),
      'ssm.conv_kernel': count(config.linear_conv_kernel_dim),
      'ssm.state_size': count(config.linear_key_head_dim),
      'ssm.group_count': count(config.linear_num_key_heads),
      'ssm.time_step_rank': count(heads),
      'ssm.inner_size': count(heads * Number(config.linear_value_head_dim)),
    };
  },
  tensors(name, weight, config) {
    const draft = DRAFT_HEAD[name];
    const layers = Number(config.num_hidden_layers);
    const name_ = name.replace(/^mtp\.layers\.0\./, `model.layers.${layers}.`);
    // Transformers stores these norms' distance from one; the gated norm's factors are stored as they are.
    const isNorm = /norm(_embedding|_hidden)?\.weight$/.test(name) && !name.includes('linear_attn');
    const value = isNorm ? mapValues(weight, (x) => x + 1) : weight;
    if (draft) return { [`blk.${layers}.${draft}`]: value };
    const place = placeOf(name_);
    const found = place && (expertTensors(place, value) ?? deltaNetTensors(place, value, config));
    if (found) return found;
    return renamed(
      name_,
      place?.part === 'mlp.shared_expert_gate' ? reshape(value, [value.values.length]) : value,
      DELTA_NET,
    );
  },
};

function deltaNetTensors(
  { layer, part }: Place,
  weight: Weight,
  config: TrainedConfig,
): Record<string, Weight> | undefined {
  if (!part.startsWith('linear_attn.')) return undefined;
  const keyHeads = Number(config.linear_num_key_heads);
  const size = Number(config.linear_value_head_dim);
  const keys = 2 * keyHeads * Number(config.linear_key_head_dim);
  const behindKeys = (of: Weight) =>
    stackRows([rows(of, 0, keys), inRounds(rows(of, keys, of.shape[0] ?? 0), keyHeads, size)]);
  switch (part.slice('linear_attn.'.length)) {
    case 'A_log':
      return {
        [`${layer}.ssm_a`]: inRounds(
          mapValues(weight, (x) => -Math.exp(x)),
          keyHeads,
          1,
        ),
      };
    case 'dt_bias':
      return { [`${layer}.ssm_dt.bias`]: inRounds(weight, keyHeads, 1) };
    case 'in_proj_qkv':
      return { [`${layer}.attn_qkv.weight`]: behindKeys(weight) };
    case 'conv1d':
      return {
        [`${layer}.ssm_conv1d.weight`]: behindKeys(
          reshape(weight, [weight.shape[0] ?? 0, weight.shape[2] ?? 0]),
        ),
      };
    case 'in_proj_z':
      return { [`${layer}.attn_gate.weight`]: inRounds(weight, keyHeads, size) };
    case 'in_proj_b':
      return { [`${layer}.ssm_beta.weight`]: inRounds(weight, keyHeads, 1) };
    case 'in_proj_a':
      return { [`${layer}.ssm_alpha.weight`]: inRounds(weight, keyHeads, 1) };
    case 'out_proj':
      return { [`${layer}.ssm_out.weight`]: columnsInRounds(weight, keyHeads, size) };
    default:
      return undefined;
  }
}

const gptOss: TrainedFamily = {
  architecture: 'gpt-oss',
  metadata(config) {
    const rope = record(config.rope_parameters);
    return {
      ...common(config),
      ...experts(config, config.num_local_experts),
      feed_forward_length: count(config.intermediate_size),
      expert_feed_forward_length: count(config.intermediate_size),
      'attention.key_length': count(config.head_dim),
      'attention.value_length': count(config.head_dim),
      'attention.sliding_window': count(config.sliding_window),
      'rope.dimension_count': count(config.head_dim),
      'rope.scaling.type': text('yarn'),
      'rope.scaling.factor': real(rope.factor),
      'rope.scaling.original_context_length': count(rope.original_max_position_embeddings),
    };
  },
  tensors(name, weight) {
    const place = placeOf(name);
    if (place?.part === 'self_attn.sinks') return { [`${place.layer}.attn_sinks.weight`]: weight };
    if (!place?.part.startsWith('mlp.experts.'))
      return renamed(name, weight, { post_attention_layernorm: 'post_attention_norm' });
    const { layer, part } = place;
    if (part.endsWith('down_proj_bias')) return { [`${layer}.ffn_down_exps.bias`]: weight };
    if (part.endsWith('down_proj')) return { [`${layer}.ffn_down_exps.weight`]: permute(weight, [0, 2, 1]) };
    // Gate and up projections take turns, and their matrices are stored the other way round.
    const isBias = part.endsWith('_bias');
    const stacked = isBias ? reshape(weight, [...weight.shape, 1]) : permute(weight, [0, 2, 1]);
    const half = (first: 0 | 1) => {
      const found = everySecondRow(stacked, first);
      return isBias ? reshape(found, found.shape.slice(0, 2)) : found;
    };
    const suffix = isBias ? 'bias' : 'weight';
    return { [`${layer}.ffn_gate_exps.${suffix}`]: half(0), [`${layer}.ffn_up_exps.${suffix}`]: half(1) };
  },
};

const deepseek2: TrainedFamily = {
  architecture: 'deepseek2',
  metadata(config) {
    const rank = Number(config.kv_lora_rank);
    const turned = Number(config.qk_rope_head_dim);
    return {
      ...common(config),
      ...experts(config, config.n_routed_experts),
      'attention.head_count_kv': count(1),
      'attention.q_lora_rank': count(config.q_lora_rank),
      'attention.kv_lora_rank': count(rank),
      'attention.key_length': count(rank + turned),
      'attention.value_length': count(rank),
      'attention.key_length_mla': count(Number(config.qk_nope_head_dim) + turned),
      'attention.value_length_mla': count(config.v_head_dim),
      'rope.dimension_count': count(turned),
      feed_forward_length: count(config.intermediate_size),
      expert_feed_forward_length: count(config.moe_intermediate_size),
      expert_shared_count: count(config.n_shared_experts),
      leading_dense_block_count: count(config.first_k_dense_replace),
      expert_weights_scale: real(config.routed_scaling_factor),
      expert_weights_norm: flag(config.norm_topk_prob === true),
      expert_group_count: count(config.n_group),
      expert_group_used_count: count(config.topk_group),
      expert_gating_func: count(2),
    };
  },
  tensors(name, weight, config) {
    const place = placeOf(name);
    if (place?.part === 'mlp.gate.e_score_correction_bias')
      return { [`${place.layer}.exp_probs_b.bias`]: weight };
    if (place?.part === 'self_attn.kv_b_proj') return latentHeads(place.layer, weight, config);
    const found = place && expertTensors(place, weight);
    return found ?? renamed(name, weight, { post_attention_layernorm: 'ffn_norm' });
  },
};

/** The two halves of `kv_b_proj`, a matrix a head each, as the absorbed form reads them. */
function latentHeads(layer: string, weight: Weight, config: TrainedConfig): Record<string, Weight> {
  const heads = Number(config.num_attention_heads);
  const keySize = Number(config.qk_nope_head_dim);
  const size = keySize + Number(config.v_head_dim);
  const rank = Number(config.kv_lora_rank);
  const part = (from: number, to: number) => {
    const perHead = Array.from({ length: heads }, (_, head) =>
      rows(weight, head * size + from, head * size + to),
    );
    return reshape(stackRows(perHead), [heads, to - from, rank]);
  };
  return {
    [`${layer}.attn_k_b.weight`]: permute(part(0, keySize), [0, 2, 1]),
    [`${layer}.attn_v_b.weight`]: part(keySize, size),
  };
}

const MAMBA: Readonly<Record<string, string>> = {
  post_attention_layernorm: 'ffn_norm',
  'mamba.in_proj': 'ssm_in',
  'mamba.out_proj': 'ssm_out',
  'shared_mlp.output_linear': 'ffn_down',
};

const granitehybrid: TrainedFamily = {
  architecture: 'granitehybrid',
  metadata(config) {
    const heads = Number(config.mamba_n_heads);
    const layers = config.layer_types as readonly string[];
    return {
      ...common(config),
      'attention.head_count_kv': numbers(
        layers.map((type) => (type === 'full_attention' ? Number(config.num_key_value_heads) : 0)),
      ),
      feed_forward_length: count(config.shared_intermediate_size),
      embedding_scale: real(config.embedding_multiplier),
      residual_scale: real(config.residual_multiplier),
      'attention.scale': real(config.attention_multiplier),
      logit_scale: real(config.logits_scaling),
      'rope.dimension_count': count(Number(config.hidden_size) / Number(config.num_attention_heads)),
      'rope.scaling.finetuned': flag(false),
      'ssm.conv_kernel': count(config.mamba_d_conv),
      'ssm.inner_size': count(heads * Number(config.mamba_d_head)),
      'ssm.state_size': count(config.mamba_d_state),
      'ssm.time_step_rank': count(heads),
      'ssm.group_count': count(config.mamba_n_groups),
    };
  },
  tensors(name, weight, config) {
    const place = placeOf(name);
    const first = weight.shape[0] ?? 1;
    switch (place?.part) {
      case 'mamba.A_log':
        return {
          [`${place.layer}.ssm_a`]: reshape(
            mapValues(weight, (x) => -Math.exp(x)),
            [first, 1],
          ),
        };
      case 'mamba.D':
        return { [`${place.layer}.ssm_d`]: reshape(weight, [first, 1]) };
      case 'mamba.dt_bias':
        return { [`${place.layer}.ssm_dt.bias`]: weight };
      case 'mamba.conv1d':
        return {
          [`${place.layer}.ssm_conv1d${place.suffix}`]:
            place.suffix === '.bias' ? weight : reshape(weight, [first, weight.shape[2] ?? 1]),
        };
      case 'mamba.norm': {
        const groups = Number(config.mamba_n_groups);
        return { [`${place.layer}.ssm_norm.weight`]: reshape(weight, [groups, first / groups]) };
      }
      case 'shared_mlp.input_linear':
        return {
          [`${place.layer}.ffn_gate.weight`]: rows(weight, 0, first / 2),
          [`${place.layer}.ffn_up.weight`]: rows(weight, first / 2, first),
        };
      default:
        return renamed(name, weight, MAMBA);
    }
  },
};

/** The families by `train.py`'s names. */
export const TRAINED_FAMILIES: Readonly<Record<string, TrainedFamily>> = {
  qwen35moe,
  gpt_oss: gptOss,
  deepseek2,
  granitehybrid,
};

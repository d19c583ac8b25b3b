import type { CheckpointConfig } from '../checkpoint-config.ts';
import { invalid } from '../checkpoint.ts';
import {
  type ChangedTensor,
  type CheckpointFamily,
  DECODER_TENSORS,
  HEAD_NORMS,
  plusOne,
  type Settings,
  type TensorChange,
} from '../family.ts';
import { ropeOf } from '../rope-settings.ts';
import { MIXTURE_TENSORS } from './qwen.ts';

/** Parts of a head's pairs that are turned by time, height and width, if the settings leave them out. */
const SECTIONS = [11, 11, 10];

const ROTATED_SHARE = 0.25;
const INTERVAL = 4;

/** What predicts tokens after the next: its names in checkpoints, and as a layer behind the others. */
const PREDICTOR: Readonly<Record<string, string>> = {
  fc: 'eh_proj',
  pre_fc_norm_embedding: 'enorm',
  pre_fc_norm_hidden: 'hnorm',
  norm: 'shared_head.norm',
};

const TENSORS = {
  ...DECODER_TENSORS,
  ...HEAD_NORMS,
  'model.layers.{}.post_attention_layernorm': 'blk.{}.post_attention_norm',
  'model.layers.{}.linear_attn.in_proj_qkv': 'blk.{}.attn_qkv',
  'model.layers.{}.linear_attn.in_proj_z': 'blk.{}.attn_gate',
  'model.layers.{}.linear_attn.in_proj_a': 'blk.{}.ssm_alpha',
  'model.layers.{}.linear_attn.in_proj_b': 'blk.{}.ssm_beta',
  'model.layers.{}.linear_attn.conv1d': 'blk.{}.ssm_conv1d',
  'model.layers.{}.linear_attn.A_log': 'blk.{}.ssm_a',
  'model.layers.{}.linear_attn.dt_bias': 'blk.{}.ssm_dt.bias',
  'model.layers.{}.linear_attn.norm': 'blk.{}.ssm_norm',
  'model.layers.{}.linear_attn.out_proj': 'blk.{}.ssm_out',
  'model.layers.{}.eh_proj': 'blk.{}.nextn.eh_proj',
  'model.layers.{}.enorm': 'blk.{}.nextn.enorm',
  'model.layers.{}.hnorm': 'blk.{}.nextn.hnorm',
  'model.layers.{}.shared_head.norm': 'blk.{}.nextn.shared_head_norm',
} as const;

/** Qwen 3.5 and 3.6, of those that see images the language model: gated delta nets and gated attention. */
export const qwen35: CheckpointFamily = {
  classes: ['Qwen3_5ForCausalLM', 'Qwen3_5ForConditionalGeneration'],
  architecture: 'qwen35',
  tensors: TENSORS,
  alwaysF32: ['ssm_conv1d'],
  rename(name, config) {
    const [, part = '', rest = ''] = /^(?:model\.)?mtp\.(\w+)\.(.*)$/.exec(name) ?? [];
    if (rest === '') return name;
    const layers = config.number('num_hidden_layers');
    const own = PREDICTOR[part];
    if (own !== undefined) return `model.layers.${layers}.${own}.${rest}`;
    const [layer = '', ...path] = rest.split('.');
    return `model.layers.${layers + Number(layer)}.${path.join('.')}`;
  },
  settings(config, settings, key, names) {
    config.require('hidden_act', 'silu');
    config.require('attn_output_gate', true);
    config.require('mtp_use_dedicated_embeddings', false);
    config.get('mamba_ssm_dtype', 'mtp_num_hidden_layers', 'vocab_size', 'language_model_only');
    config.get('image_token_id', 'video_token_id', 'vision_start_token_id', 'vision_end_token_id');
    const predicts = names.flatMap((name) => /mtp\.layers\.(\d+)\./.exec(name)?.[1] ?? []).map(Number);
    writeLayers(config, settings, key, Math.max(-1, ...predicts) + 1);
    writeNet(config, settings, key);
    const rope = ropeOf(config);
    rope?.require('mrope_interleaved', true);
    const sections = rope?.get('mrope_section') ?? SECTIONS;
    if (!isSections(sections)) invalid('config.json', 'another mrope_section', 'numbers of pairs');
    const values = [...sections, 0, 0, 0].slice(0, 4);
    settings.set(key('rope.dimension_sections'), { type: 'array', element: 'i32', values });
    const share = rope?.optional('partial_rotary_factor') ?? config.optional('partial_rotary_factor');
    const size =
      config.optional('head_dim') ??
      Math.floor(config.number('hidden_size') / config.number('num_attention_heads'));
    const value = Math.trunc(size * (share ?? ROTATED_SHARE));
    settings.set(key('rope.dimension_count'), { type: 'u32', value });
  },
  change: changeOf,
};

/** Qwen 3.5 and 3.6 with experts, whose gates and inputs come as one tensor. */
export const qwen35moe: CheckpointFamily = {
  ...qwen35,
  classes: ['Qwen3_5MoeForCausalLM', 'Qwen3_5MoeForConditionalGeneration'],
  architecture: 'qwen35moe',
  tensors: {
    ...TENSORS,
    ...MIXTURE_TENSORS,
    'model.layers.{}.mlp.experts.gate_up_proj': ['blk.{}.ffn_gate_exps.weight', 'blk.{}.ffn_up_exps.weight'],
    'model.layers.{}.mlp.experts.down_proj': 'blk.{}.ffn_down_exps.weight',
  },
  alwaysF32: ['ssm_conv1d', 'ffn_gate_inp', 'ffn_gate_inp_shexp'],
  settings(config, settings, key, names) {
    qwen35.settings?.(config, settings, key, names);
    config.require('norm_topk_prob', true);
    config.require('mlp_only_layers', []);
    const set = (name: string, value: number) => settings.set(key(name), { type: 'u32', value });
    set('expert_feed_forward_length', config.number('moe_intermediate_size'));
    set('expert_shared_feed_forward_length', config.number('shared_expert_intermediate_size'));
  },
  change(tensor) {
    if (!tensor.name.endsWith('.gate_up_proj')) return changeOf(tensor);
    const { target, shape } = tensor;
    const [experts = 0, rows = 0, width = 0] = shape;
    const hidden = rows / 2;
    const first = target.includes('ffn_up_exps') ? hidden : 0;
    return {
      shape: [experts, hidden, width],
      order: (row) => Math.floor(row / hidden) * rows + first + (row % hidden),
    };
  },
};

function isSections(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every((size) => typeof size === 'number');
}

/** Which layers recur, and how many behind them predict. */
function writeLayers(
  config: CheckpointConfig,
  settings: Settings,
  key: (name: string) => string,
  predictors: number,
): void {
  const layers = config.number('num_hidden_layers');
  settings.set(key('block_count'), { type: 'u32', value: layers + predictors });
  if (predictors > 0) settings.set(key('nextn_predict_layers'), { type: 'u32', value: predictors });
  const interval = config.optional('full_attention_interval') ?? INTERVAL;
  settings.set(key('full_attention_interval'), { type: 'u32', value: interval });
  const kinds = config.get('layer_types');
  if (!Array.isArray(kinds)) return;
  if (kinds.length !== layers)
    invalid('config.json', `${kinds.length} layer_types`, `${layers}, one a layer`);
  const behind = Array<boolean>(predictors).fill(false);
  const values = [...kinds.map((kind) => kind === 'linear_attention'), ...behind];
  settings.set(key('attention.recurrent_layers'), { type: 'array', element: 'bool', values });
}

function writeNet(config: CheckpointConfig, settings: Settings, key: (name: string) => string): void {
  const set = (name: string, value: number) => settings.set(key(`ssm.${name}`), { type: 'u32', value });
  const { keyHeads, valueHeads, valueSize } = netOf(config);
  set('conv_kernel', config.number('linear_conv_kernel_dim'));
  set('state_size', config.number('linear_key_head_dim'));
  set('group_count', keyHeads);
  set('time_step_rank', valueHeads);
  set('inner_size', valueSize * valueHeads);
}

function netOf(config: CheckpointConfig) {
  return {
    keyHeads: config.number('linear_num_key_heads'),
    valueHeads: config.number('linear_num_value_heads'),
    keySize: config.number('linear_key_head_dim'),
    valueSize: config.number('linear_value_head_dim'),
  };
}

/** What is stored as a logarithm of a decay. */
const decay = (value: number): number => -Math.exp(value);

/**
 * Heads of values that share one of keys are neighbours in checkpoints. In files they are a round apart: ggml repeats keys as a
 * whole.
 */
function changeOf({ name, shape, config }: ChangedTensor): TensorChange | undefined {
  if (!name.includes('.linear_attn.')) return name.endsWith('norm.weight') ? { value: plusOne } : undefined;
  const { keyHeads, valueHeads, keySize, valueSize } = netOf(config);
  const share = valueHeads / keyHeads;
  const headOf = (head: number) => (head % keyHeads) * share + Math.floor(head / keyHeads);
  /** Of heads of `size` units, behind `before` units that keep their place. */
  const heads =
    (size: number, before = 0) =>
    (unit: number) => {
      const at = unit - before;
      return at < 0 ? unit : before + headOf(Math.floor(at / size)) * size + (at % size);
    };
  const keys = 2 * keyHeads * keySize;
  if (name.endsWith('.A_log')) return { value: decay, order: heads(1) };
  if (name.endsWith('.dt_bias') || /\.in_proj_[ab]\./.test(name)) return { order: heads(1) };
  if (name.includes('.in_proj_z.')) return { order: heads(valueSize) };
  if (name.includes('.in_proj_qkv.')) return { order: heads(valueSize, keys) };
  if (name.includes('.conv1d.')) {
    return { shape: [shape[0] ?? 0, shape.at(-1) ?? 0], order: heads(valueSize, keys) };
  }
  if (!name.includes('.out_proj.')) return undefined;
  // A row has the heads one after another.
  const order = (unit: number) => unit - (unit % valueHeads) + headOf(unit % valueHeads);
  return { unit: valueSize, order };
}

import type { CheckpointConfig } from '../checkpoint-config.ts';
import { type CheckpointFamily, DECODER_TENSORS, HEAD_NORMS, type Settings } from '../family.ts';

const EXPERTS = {
  'model.layers.{}.mlp.gate': 'blk.{}.ffn_gate_inp',
  'model.layers.{}.mlp.experts.{e}.gate_proj': 'blk.{}.ffn_gate_exps',
  'model.layers.{}.mlp.experts.{e}.down_proj': 'blk.{}.ffn_down_exps',
  'model.layers.{}.mlp.experts.{e}.up_proj': 'blk.{}.ffn_up_exps',
} as const;

const SHARED_EXPERT = {
  'model.layers.{}.mlp.shared_expert_gate': 'blk.{}.ffn_gate_inp_shexp',
  'model.layers.{}.mlp.shared_expert.gate_proj': 'blk.{}.ffn_gate_shexp',
  'model.layers.{}.mlp.shared_expert.down_proj': 'blk.{}.ffn_down_shexp',
  'model.layers.{}.mlp.shared_expert.up_proj': 'blk.{}.ffn_up_shexp',
} as const;

/** Experts, and the one that all tokens share. */
export const MIXTURE_TENSORS = { ...EXPERTS, ...SHARED_EXPERT } as const;

/** Qwen 2 and 2.5: biases of queries, keys and values. */
export const qwen2: CheckpointFamily = {
  classes: ['Qwen2ForCausalLM'],
  architecture: 'qwen2',
  tensors: DECODER_TENSORS,
  spaces: 'added',
  settings: (config) => {
    config.require('hidden_act', 'silu');
    config.require('use_sliding_window', false);
    config.get('sliding_window');
    const layers = config.optional('num_hidden_layers') ?? 0;
    config.require('layer_types', Array<string>(layers).fill('full_attention'));
  },
};

/** Qwen 1.5's and 2's mixtures: experts in all layers, beside one that all tokens share. */
export const qwen2moe: CheckpointFamily = {
  ...qwen2,
  classes: ['Qwen2MoeForCausalLM'],
  architecture: 'qwen2moe',
  tensors: { ...DECODER_TENSORS, ...MIXTURE_TENSORS },
  alwaysF32: ['ffn_gate_inp', 'ffn_gate_inp_shexp'],
  settings(config, settings, key, names) {
    qwen2.settings?.(config, settings, key, names);
    config.require('norm_topk_prob', false);
    writeExperts(config, settings, key);
    const value = config.number('shared_expert_intermediate_size');
    settings.set(key('expert_shared_feed_forward_length'), { type: 'u32', value });
  },
};

/** Qwen 3: norms of each head in place of biases. */
export const qwen3: CheckpointFamily = {
  ...qwen2,
  classes: ['Qwen3ForCausalLM'],
  architecture: 'qwen3',
  tensors: { ...DECODER_TENSORS, ...HEAD_NORMS },
};

/** Qwen 3's mixtures: all layers have experts. */
export const qwen3moe: CheckpointFamily = {
  ...qwen3,
  classes: ['Qwen3MoeForCausalLM'],
  architecture: 'qwen3moe',
  tensors: { ...DECODER_TENSORS, ...HEAD_NORMS, ...EXPERTS },
  alwaysF32: ['ffn_gate_inp'],
  settings(config, settings, key, names) {
    qwen2.settings?.(config, settings, key, names);
    config.require('norm_topk_prob', true);
    writeExperts(config, settings, key);
  },
};

/** All layers have experts. */
function writeExperts(config: CheckpointConfig, settings: Settings, key: (name: string) => string): void {
  config.require('decoder_sparse_step', 1);
  config.require('mlp_only_layers', []);
  const value = config.number('moe_intermediate_size');
  settings.set(key('expert_feed_forward_length'), { type: 'u32', value });
}

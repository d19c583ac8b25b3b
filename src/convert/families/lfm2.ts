import type { CheckpointConfig } from '../checkpoint-config.ts';
import { invalid } from '../checkpoint.ts';
import { type CheckpointFamily, DECODER_TENSORS } from '../family.ts';

/** LFM 2: short convolutions in most layers, attention in some. */
export const lfm2: CheckpointFamily = {
  classes: ['Lfm2ForCausalLM', 'LFM2ForCausalLM'],
  architecture: 'lfm2',
  tensors: {
    'model.embed_tokens': DECODER_TENSORS['model.embed_tokens'],
    lm_head: DECODER_TENSORS.lm_head,
    'model.embedding_norm': 'token_embd_norm',
    'model.layers.{}.operator_norm': 'blk.{}.attn_norm',
    'model.layers.{}.self_attn.q_proj': 'blk.{}.attn_q',
    'model.layers.{}.self_attn.k_proj': 'blk.{}.attn_k',
    'model.layers.{}.self_attn.v_proj': 'blk.{}.attn_v',
    'model.layers.{}.self_attn.out_proj': 'blk.{}.attn_output',
    'model.layers.{}.self_attn.q_layernorm': 'blk.{}.attn_q_norm',
    'model.layers.{}.self_attn.k_layernorm': 'blk.{}.attn_k_norm',
    'model.layers.{}.conv.conv': 'blk.{}.shortconv.conv',
    'model.layers.{}.conv.in_proj': 'blk.{}.shortconv.in_proj',
    'model.layers.{}.conv.out_proj': 'blk.{}.shortconv.out_proj',
    'model.layers.{}.ffn_norm': 'blk.{}.ffn_norm',
    'model.layers.{}.feed_forward.w1': 'blk.{}.ffn_gate',
    'model.layers.{}.feed_forward.w2': 'blk.{}.ffn_down',
    'model.layers.{}.feed_forward.w3': 'blk.{}.ffn_up',
  },
  alwaysF32: ['shortconv.conv'],
  settings(config, settings, key) {
    config.require('conv_bias', false);
    config.require('block_use_swiglu', true);
    config.require('block_use_xavier_init', true, false);
    config.require('block_dim', config.get('hidden_size'));
    config.require('conv_dim', config.get('hidden_size'));
    config.require('conv_dim_out', config.get('hidden_size'));
    const heads = config.number('num_key_value_heads', 'num_heads');
    const values = attentionLayers(config).map((attends) => (attends ? heads : 0));
    settings.set(key('attention.head_count_kv'), { type: 'array', element: 'i32', values });
    settings.set(key('vocab_size'), { type: 'u32', value: config.number('vocab_size') });
    settings.set(key('shortconv.l_cache'), { type: 'u32', value: config.number('conv_L_cache') });
    const epsilon = config.number('norm_eps', 'block_norm_eps');
    settings.set(key('attention.layer_norm_rms_epsilon'), { type: 'f32', value: epsilon });
    let hidden = config.number('block_ff_dim', 'intermediate_size');
    const multiple = config.optional('block_multiple_of') ?? 256;
    const factor = config.optional('block_ffn_dim_multiplier') ?? 1;
    if (config.get('block_auto_adjust_ff_dim') === true) {
      hidden = Math.floor(factor * Math.floor((2 * hidden) / 3));
      hidden = multiple * Math.ceil(hidden / multiple);
    }
    settings.set(key('feed_forward_length'), { type: 'u32', value: hidden });
  },
  change: ({ name, shape: [channels = 0, , width = 0] }) =>
    name.endsWith('conv.conv.weight') ? { shape: [channels, width] } : undefined,
};

/** Which layers have attention: by the kinds of all, or in older files by the numbers of these. */
function attentionLayers(config: CheckpointConfig): boolean[] {
  const kinds = config.get('layer_types');
  const own = config.get('full_attn_idxs');
  if (Array.isArray(kinds)) return kinds.map((kind) => kind === 'full_attention');
  if (!Array.isArray(own)) return invalid('config.json', 'no layer_types', 'the kind of each layer');
  return Array.from({ length: config.number('num_hidden_layers') }, (_, layer) => own.includes(layer));
}

import { type CheckpointFamily, DECODER_TENSORS, plusOne } from '../family.ts';

/**
 * Gemma 2: norms on both sides of a sublayer, stored without the one that is added to their weights, and bounds of scores and
 * logits.
 */
export const gemma2: CheckpointFamily = {
  classes: ['Gemma2ForCausalLM'],
  architecture: 'gemma2',
  tensors: {
    ...DECODER_TENSORS,
    'model.layers.{}.post_attention_layernorm': 'blk.{}.post_attention_norm',
    'model.layers.{}.pre_feedforward_layernorm': 'blk.{}.ffn_norm',
    'model.layers.{}.post_feedforward_layernorm': 'blk.{}.post_ffw_norm',
  },
  spaces: 'not added',
  settings(config, settings, key) {
    config.require('hidden_activation', 'gelu_pytorch_tanh');
    config.require('hidden_act', 'gelu_pytorch_tanh');
    // Files of this architecture do not say the base, because all models have this one.
    config.require('rope_theta', 10000);
    settings.delete(key('rope.freq_base'));
    for (const name of ['attn_logit_softcapping', 'final_logit_softcapping']) {
      settings.set(key(name), { type: 'f32', value: config.number(name) });
    }
    settings.set(key('attention.sliding_window'), { type: 'u32', value: config.number('sliding_window') });
    config.get('query_pre_attn_scalar', 'layer_types');
  },
  change: ({ name }) => (name.endsWith('norm.weight') ? { value: plusOne } : undefined),
};

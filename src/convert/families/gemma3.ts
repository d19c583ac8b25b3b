import { type CheckpointFamily, DECODER_TENSORS, HEAD_NORMS, plusOne } from '../family.ts';

/** What `config.json` may leave out, as those of the models that see images do. */
const DEFAULTS = {
  context_length: ['max_position_embeddings', 131072],
  'attention.head_count': ['num_attention_heads', 8],
  'attention.head_count_kv': ['num_key_value_heads', 4],
  'attention.key_length': ['head_dim', 256],
  'attention.value_length': ['head_dim', 256],
} as const;

const VOCABULARY = 262208;

/** Gemma 3, of those that see images the language model: norms are stored without the one that is added to their weights. */
export const gemma3: CheckpointFamily = {
  classes: ['Gemma3ForCausalLM', 'Gemma3ForConditionalGeneration'],
  architecture: 'gemma3',
  tensors: {
    ...DECODER_TENSORS,
    ...HEAD_NORMS,
    'model.layers.{}.post_attention_layernorm': 'blk.{}.post_attention_norm',
    'model.layers.{}.pre_feedforward_layernorm': 'blk.{}.ffn_norm',
    'model.layers.{}.post_feedforward_layernorm': 'blk.{}.post_ffw_norm',
  },
  vocabulary: VOCABULARY,
  spaces: 'not added',
  settings(config, settings, key) {
    config.require('hidden_activation', 'gelu_pytorch_tanh');
    config.require('attn_logit_softcapping');
    for (const [name, [setting, usual]] of Object.entries(DEFAULTS)) {
      settings.set(key(name), { type: 'u32', value: config.optional(setting) ?? usual });
    }
    const epsilon = config.optional('rms_norm_eps') ?? 1e-6;
    settings.set(key('attention.layer_norm_rms_epsilon'), { type: 'f32', value: epsilon });
    if (!settings.has(key('rope.freq_base')))
      settings.set(key('rope.freq_base'), { type: 'f32', value: 1e6 });
    const cap = config.optional('final_logit_softcapping');
    if (cap !== undefined) settings.set(key('final_logit_softcapping'), { type: 'f32', value: cap });
    // Which layers slide is the architecture's: five of six. Another pattern would be computed wrongly.
    config.require('sliding_window_pattern', 6);
    config.require('_sliding_window_pattern', 6);
    config.get('layer_types', 'query_pre_attn_scalar');
    settings.set(key('attention.sliding_window'), { type: 'u32', value: config.number('sliding_window') });
  },
  change({ name, shape: [rows = 0, width = 0], config }) {
    if (name.endsWith('norm.weight')) return { value: plusOne };
    return name.endsWith('embed_tokens.weight')
      ? { shape: [Math.min(rows, config.optional('vocab_size') ?? VOCABULARY), width] }
      : undefined;
  },
};

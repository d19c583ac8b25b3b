import { type CheckpointFamily, DECODER_TENSORS, HEAD_NORMS } from '../family.ts';

const { 'model.layers.{}.input_layernorm': _, ...TENSORS } = DECODER_TENSORS;

/** OLMo 2 and 3: norms behind each sublayer instead of before, and of whole rows of queries and keys. */
export const olmo2: CheckpointFamily = {
  classes: ['Olmo2ForCausalLM', 'Olmo3ForCausalLM'],
  architecture: 'olmo2',
  tensors: {
    ...TENSORS,
    ...HEAD_NORMS,
    'model.layers.{}.post_attention_layernorm': 'blk.{}.post_attention_norm',
    'model.layers.{}.post_feedforward_layernorm': 'blk.{}.post_ffw_norm',
  },
  settings(config, settings, key) {
    config.require('hidden_act', 'silu');
    const window = config.optional('sliding_window');
    const kinds = config.get('layer_types');
    if (window === undefined) return;
    settings.set(key('attention.sliding_window'), { type: 'u32', value: window });
    const base = settings.get(key('rope.freq_base'));
    if (base && !settings.has(key('rope.freq_base_swa'))) settings.set(key('rope.freq_base_swa'), base);
    // Those of OLMo 3 that do not say it: three of four layers.
    const layers = Array.from({ length: config.number('num_hidden_layers') }, (_layer, layer) => layer);
    const values = Array.isArray(kinds)
      ? kinds.map((kind) => kind === 'sliding_attention')
      : layers.map((layer) => (layer + 1) % 4 !== 0);
    settings.set(key('attention.sliding_window_pattern'), { type: 'array', element: 'bool', values });
  },
};

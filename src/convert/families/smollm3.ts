import type { CheckpointFamily } from '../family.ts';
import { llama } from './llama.ts';

const PERIOD = 4;

/** SmolLM 3: Llama without RoPE in every fourth layer, as its architecture has it. */
export const smollm3: CheckpointFamily = {
  ...llama,
  classes: ['SmolLM3ForCausalLM'],
  architecture: 'smollm3',
  settings(config, settings, key, names) {
    llama.settings?.(config, settings, key, names);
    const layers = config.number('num_hidden_layers');
    config.require('no_rope_layer_interval', PERIOD);
    const turned = Array.from({ length: layers }, (_, layer) => ((layer + 1) % PERIOD === 0 ? 0 : 1));
    config.require('no_rope_layers', turned);
    config.require('use_sliding_window', false);
    config.get('sliding_window');
    config.require('layer_types', Array<string>(layers).fill('full_attention'));
  },
};

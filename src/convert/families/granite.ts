import type { CheckpointFamily } from '../family.ts';
import { llama } from './llama.ts';

/** Factors by which Granite differs from Llama, by their keys in the file. */
const FACTORS = {
  'attention.scale': 'attention_multiplier',
  embedding_scale: 'embedding_multiplier',
  residual_scale: 'residual_multiplier',
  logit_scale: 'logits_scaling',
} as const;

/** Granite 3 and 4 without recurrence and experts: Llama with factors. */
export const granite: CheckpointFamily = {
  ...llama,
  classes: ['GraniteForCausalLM'],
  architecture: 'granite',
  settings(config, settings, key, names) {
    llama.settings?.(config, settings, key, names);
    for (const [name, setting] of Object.entries(FACTORS)) {
      const value = config.optional(setting);
      if (value) settings.set(key(name), { type: 'f32', value });
    }
  },
};

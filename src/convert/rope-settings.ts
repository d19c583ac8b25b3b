import { fail } from '../base/errors.ts';
import type { CheckpointConfig } from './checkpoint-config.ts';
import type { CheckpointFamily, Settings } from './family.ts';

/** What a checkpoint says about RoPE besides its base: of all layers, or of those that see the whole context. */
export function ropeOf(config: CheckpointConfig): CheckpointConfig | undefined {
  const all = config.inner('rope_parameters') ?? config.inner('rope_scaling');
  return all?.inner('full_attention') ?? all;
}

/** Writes the settings of RoPE. Throws `CONVERT_UNSUPPORTED`. */
export function writeRope(
  config: CheckpointConfig,
  { ropeTypes = [] }: CheckpointFamily,
  settings: Settings,
  key: (name: string) => string,
): void {
  const float = (name: string, value: number | undefined) => {
    if (value !== undefined) settings.set(key(name), { type: 'f32', value });
  };
  const rope = ropeOf(config);
  const kind = rope?.get('rope_type', 'type');
  const type = typeof kind === 'string' ? kind.toLowerCase() : 'default';
  if (rope && (type === 'linear' || type === 'yarn')) {
    settings.set(key('rope.scaling.type'), { type: 'string', value: type });
    float('rope.scaling.factor', rope.number('factor'));
  } else if (!['default', 'llama3', ...ropeTypes].includes(type)) {
    const expected = ['default', 'linear', 'yarn', 'llama3', ...ropeTypes].join(', ');
    fail('CONVERT_UNSUPPORTED', { what: 'RoPE', found: type, expected });
  }
  if (rope && type === 'yarn') {
    const trained = rope.optional('original_max_position_embeddings');
    const value = trained ?? config.number('original_max_position_embeddings', 'max_position_embeddings');
    settings.set(key('rope.scaling.original_context_length'), { type: 'u32', value });
    float('rope.scaling.yarn_ext_factor', rope.optional('extrapolation_factor'));
    float('rope.scaling.yarn_attn_factor', rope.optional('attention_factor', 'attn_factor'));
    float('rope.scaling.yarn_beta_fast', rope.optional('beta_fast'));
    float('rope.scaling.yarn_beta_slow', rope.optional('beta_slow'));
  }
  float('rope.freq_base', rope?.optional('rope_theta') ?? config.optional('rope_theta'));
  const sliding = config.inner('rope_parameters')?.inner('sliding_attention');
  float('rope.freq_base_swa', sliding?.optional('rope_theta') ?? config.optional('rope_local_base_freq'));
}

import { fail } from '../../base/errors.ts';
import type { CheckpointConfig } from '../checkpoint-config.ts';
import { invalid } from '../checkpoint.ts';
import { type CheckpointFamily, DECODER_TENSORS } from '../family.ts';
import { ropeOf } from '../rope-settings.ts';

/** Phi 3 and 4: queries, keys and values in one matrix, and so are both inputs of the feed-forward; long texts by LongRoPE. */
export const phi3: CheckpointFamily = {
  classes: ['Phi3ForCausalLM'],
  architecture: 'phi3',
  tensors: {
    'model.embed_tokens': DECODER_TENSORS['model.embed_tokens'],
    'model.norm': DECODER_TENSORS['model.norm'],
    lm_head: DECODER_TENSORS.lm_head,
    'model.layers.{}.input_layernorm': 'blk.{}.attn_norm',
    'model.layers.{}.self_attn.qkv_proj': 'blk.{}.attn_qkv',
    'model.layers.{}.self_attn.o_proj': 'blk.{}.attn_output',
    'model.layers.{}.post_attention_layernorm': 'blk.{}.ffn_norm',
    'model.layers.{}.mlp.gate_up_proj': 'blk.{}.ffn_up',
    'model.layers.{}.mlp.down_proj': 'blk.{}.ffn_down',
  },
  spaces: 'as stored',
  ropeTypes: ['longrope', 'su'],
  settings(config, settings, key) {
    config.require('hidden_act', 'silu');
    config.get('resid_pdrop');
    settings.set(key('rope.dimension_count'), { type: 'u32', value: rotated(config) });
    const trained = { type: 'u32', value: trainedContext(config) } as const;
    settings.set(key('rope.scaling.original_context_length'), trained);
    // Zero tells Phi 4, which has no window, from the others.
    const window = config.optional('sliding_window') ?? 0;
    settings.set(key('attention.sliding_window'), { type: 'u32', value: window });
    if (ropeOf(config)?.get('long_factor') === undefined) return;
    const factor = config.number('max_position_embeddings') / trained.value;
    const value = factor > 1 ? Math.sqrt(1 + Math.log(factor) / Math.log(trained.value)) : 1;
    settings.set(key('rope.scaling.attn_factor'), { type: 'f32', value });
  },
  extra(config) {
    const rope = ropeOf(config);
    if (rope?.get('long_factor') === undefined) return new Map();
    const pairs = rotated(config) / 2;
    return new Map([
      ['rope_factors_long.weight', factorsOf(rope, 'long_factor', pairs)],
      ['rope_factors_short.weight', factorsOf(rope, 'short_factor', pairs)],
    ]);
  },
};

/** How many numbers of each head RoPE rotates. */
function rotated(config: CheckpointConfig): number {
  const share =
    ropeOf(config)?.optional('partial_rotary_factor') ?? config.optional('partial_rotary_factor') ?? 1;
  const all = Math.trunc(share * config.number('hidden_size'));
  return Math.floor(all / config.number('num_attention_heads'));
}

/** The length of texts that the model was trained on before LongRoPE. */
function trainedContext(config: CheckpointConfig): number {
  const own = ropeOf(config)?.optional('original_max_position_embeddings');
  return own ?? config.number('original_max_position_embeddings', 'max_position_embeddings');
}

function factorsOf(rope: CheckpointConfig, name: string, count: number): Float32Array {
  const factors = rope.get(name);
  if (!Array.isArray(factors) || !factors.every((factor) => typeof factor === 'number')) {
    return invalid('config.json', `no ${name}`, `a list of ${count} numbers`);
  }
  if (factors.length === count) return Float32Array.from(factors);
  const expected = `${count}, half of what RoPE rotates`;
  return fail('CHECKPOINT_INVALID', {
    file: 'config.json',
    found: `${factors.length} numbers of ${name}`,
    expected,
  });
}

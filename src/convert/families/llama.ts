import type { CheckpointConfig } from '../checkpoint-config.ts';
import { type CheckpointFamily, DECODER_TENSORS, pairedHalves } from '../family.ts';
import { ropeOf } from '../rope-settings.ts';

/** Llama, Mistral and Mixtral. Their queries and keys are stored in halves, and computed in pairs of neighbours. */
export const llama: CheckpointFamily = {
  classes: ['LlamaForCausalLM', 'LLaMAForCausalLM', 'MistralForCausalLM', 'MixtralForCausalLM'],
  architecture: 'llama',
  tensors: {
    ...DECODER_TENSORS,
    'model.layers.{}.block_sparse_moe.gate': 'blk.{}.ffn_gate_inp',
    'model.layers.{}.block_sparse_moe.experts.{e}.w1': 'blk.{}.ffn_gate_exps',
    'model.layers.{}.block_sparse_moe.experts.{e}.w2': 'blk.{}.ffn_down_exps',
    'model.layers.{}.block_sparse_moe.experts.{e}.w3': 'blk.{}.ffn_up_exps',
  },
  alwaysF32: ['ffn_gate_inp'],
  spaces: 'added',
  settings(config, settings, key) {
    config.require('hidden_act', 'silu');
    settings.set(key('vocab_size'), { type: 'u32', value: config.number('vocab_size') });
    settings.set(key('rope.dimension_count'), { type: 'u32', value: headSize(config) });
  },
  change({ name, shape: [rows = 0], config }) {
    const heads = config.number('num_attention_heads');
    const keys = config.optional('num_key_value_heads') ?? heads;
    if (/\.q_proj\.(weight|bias)$/.test(name)) return { order: pairedHalves(name, rows, heads) };
    return /\.k_proj\.(weight|bias)$/.test(name) ? { order: pairedHalves(name, rows, keys) } : undefined;
  },
  extra: (config) => {
    const rope = ropeOf(config);
    if (rope?.get('rope_type', 'type') !== 'llama3') return new Map();
    const factors = llama3Factors(headSize(config), config.optional('rope_theta'), rope);
    return new Map([['rope_freqs.weight', factors]]);
  },
};

function headSize(config: CheckpointConfig): number {
  return (
    config.optional('head_dim') ??
    Math.floor(config.number('hidden_size') / config.number('num_attention_heads'))
  );
}

/**
 * Llama 3.1's divisors of RoPE's frequencies: low ones by `factor`, high ones not, those between by degrees. In the steps of
 * PyTorch, which divides a number by a tensor by multiplying with the inverse, each rounded to f32.
 */
function llama3Factors(size: number, theta: number | undefined, rope: CheckpointConfig): Float32Array {
  const base = rope.optional('rope_theta') ?? theta ?? 10000;
  const factor = rope.optional('factor') ?? 8;
  const low = rope.optional('low_freq_factor') ?? 1;
  const high = rope.optional('high_freq_factor') ?? 4;
  const trained = rope.optional('original_max_position_embeddings') ?? 8192;
  const f = Math.fround;
  return Float32Array.from({ length: Math.ceil(size / 2) }, (_, pair) => {
    const frequency = f(1 / f(base ** f((2 * pair) / size)));
    const length = f(f(1 / frequency) * f(2 * Math.PI));
    if (length < trained / high) return 1;
    if (length > trained / low) return factor;
    const smooth = f(f(f(f(1 / length) * trained) - low) / f(high - low));
    return f(1 / f(f(f(1 - smooth) / factor) + smooth));
  });
}

import type { GgufValue } from '../../gguf/index.ts';
import type { Architecture } from '../architecture.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import type { Norm } from '../blocks/norm.ts';
import { dataDependentMix, gatedChannelMix, readDataDependentMix } from '../blocks/rwkv6.ts';
import type { ConfigReader } from '../config-reader.ts';
import { groupsOf, type LayerSpec, type ModelConfig, type NamedNorm } from '../model-config.ts';
import { count, type SyntheticShape } from '../synthetic-family.ts';

/** RWKV-6 "Finch" (Peng et al. 2024): time mixing whose decay depends on the row, and gated channel mixing. */
export const rwkv6: Architecture = {
  names: ['rwkv6'],
  configure(read) {
    const norm: Norm = {
      kind: 'layer',
      epsilon: read.real('attention.layer_norm_epsilon'),
      bias: 'always',
    };
    const time = dataDependentMix(readDataDependentMix(read, 'wkv'));
    const channel = gatedChannelMix({ hidden: read.count('feed_forward_length') });
    // Files whose last products are divided by two every so many layers.
    const period = read.countOrZero('rescale_every_n_layers');
    const layerOf = (layer: number): LayerSpec => ({
      sublayers: [
        { preNorm: { ...norm, name: 'attn_norm' }, block: time },
        {
          preNorm: { ...norm, name: 'attn_norm_2' },
          block: channel,
          ...(period > 0 && (layer + 1) % period === 0 && { sumFactor: 0.5 }),
        },
      ],
    });
    const embeddingNorm = { ...norm, name: 'token_embd_norm' };
    return compose(read, { layerOf, norm: { ...norm, name: 'output_norm' }, embeddingNorm });
  },
  synthetic: {
    metadata: (shape) => ({ ...ranks(shape), rescale_every_n_layers: count(2) }),
    shapes: ({ width }) => ({ 'time_mix_lerp_fused.weight': [width, 1, 1, 5] }),
    optional: ['time_mix_lerp_fused.weight'],
  },
};

/** RWKV-6 on Qwen 2.5: Qwen with gated linear attention in place of attention (recursal 2024). */
export const rwkv6qwen2: Architecture = {
  names: ['rwkv6qwen2'],
  configure(read) {
    const shifts = read.count('token_shift_count', 1);
    if (shifts !== 1) read.refuse('token_shift_count', `${shifts}`, '1: of the time mixing alone');
    const norm: Norm = { kind: 'rms', epsilon: read.real('attention.layer_norm_rms_epsilon') };
    const hidden = read.count('feed_forward_length');
    const layer: LayerSpec = {
      sublayers: [
        {
          preNorm: { ...norm, name: 'attn_norm' },
          block: dataDependentMix(readDataDependentMix(read, 'linear')),
        },
        {
          preNorm: { ...norm, name: 'ffn_norm' },
          block: feedForward({ form: 'gated', hidden, activation: 'silu' }),
        },
      ],
    };
    return compose(read, { layerOf: () => layer, norm: { ...norm, name: 'output_norm' } });
  },
  synthetic: {
    metadata: (shape) => ({
      ...ranks(shape),
      token_shift_count: count(1),
      'attention.head_count_kv': count(shape.kvHeads),
    }),
    shapes: ({ width }) => ({ 'time_mix_lerp_fused.weight': [width, 1, 1, 5] }),
    optional: [
      'time_mix_lerp_fused.weight',
      'time_mix_receptance.bias',
      'time_mix_key.bias',
      'time_mix_value.bias',
    ],
  },
};

function compose(
  read: ConfigReader,
  of: {
    readonly layerOf: (layer: number) => LayerSpec;
    readonly norm: NamedNorm;
    readonly embeddingNorm?: NamedNorm;
  },
): ModelConfig {
  const layers = Array.from({ length: read.count('block_count') }, (_, layer) => of.layerOf(layer));
  return {
    architecture: read.architecture,
    state: groupsOf(layers),
    width: read.count('embedding_length'),
    trainedContext: read.count('context_length'),
    embedding: of.embeddingNorm ? { norm: of.embeddingNorm } : {},
    layers,
    head: { kind: 'logits', norm: of.norm, tied: false },
  };
}

/** Metadata of a synthetic model's time mixing. */
function ranks({ width, heads }: SyntheticShape): Record<string, GgufValue> {
  return {
    'attention.head_count': count(0),
    'attention.head_count_kv': count(0),
    'wkv.head_size': count(width / heads),
    time_mix_extra_dim: count(8),
    time_decay_extra_dim: count(16),
  };
}

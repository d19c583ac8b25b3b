import type { Architecture } from '../architecture.ts';
import { channelMix, readTimeMix, timeMix } from '../blocks/rwkv7.ts';
import type { Norm } from '../blocks/norm.ts';
import { type LayerSpec, groupsOf } from '../model-config.ts';
import type { GgufValue } from '../../gguf/index.ts';
import { count, type SyntheticShape } from '../synthetic-family.ts';

/** RWKV-7 "Goose" (Peng et al. 2025): time mixing instead of attention, channel mixing instead of the feed-forward. */
export const rwkv7: Architecture = {
  names: ['rwkv7'],
  configure(read) {
    const norm: Norm = {
      kind: 'layer',
      epsilon: read.real('attention.layer_norm_epsilon'),
      bias: 'always',
    };
    const layer: LayerSpec = {
      sublayers: [
        {
          preNorm: { ...norm, name: 'attn_norm' },
          block: timeMix(readTimeMix(read)),
        },
        {
          preNorm: { ...norm, name: 'attn_norm_2' },
          block: channelMix({ hidden: read.count('feed_forward_length') }),
        },
      ],
    };
    const layers = Array.from({ length: read.count('block_count') }, () => layer);
    return {
      architecture: read.architecture,
      state: groupsOf(layers),
      width: read.count('embedding_length'),
      trainedContext: read.count('context_length'),
      embedding: { norm: { ...norm, name: 'token_embd_norm' } },
      layers,
      head: { kind: 'logits', norm: { ...norm, name: 'output_norm' }, tied: false },
    };
  },
  synthetic: {
    metadata: rwkvMetadata,
    shapes: ({ width }) => ({ 'time_mix_lerp_fused.weight': [width, 1, 1, 6] }),
    unused: ({ width }) => {
      const { value } = rwkvRanks(width);
      return {
        'time_mix_v0.weight': [width],
        'time_mix_v1.weight': [width, value],
        'time_mix_v2.weight': [value, width],
      };
    },
  },
};

/** The rank of a low-rank product, by the rule of the published models. */
function rankOf(size: number): number {
  return Math.max(32, Math.round(size / 32) * 32);
}

/** The ranks of a synthetic model. */
export function rwkvRanks(width: number) {
  const root = Math.sqrt(width);
  return {
    decay: rankOf(1.8 * root),
    rate: rankOf(1.8 * root),
    value: rankOf(1.3 * root),
    gate: rankOf(0.6 * width ** 0.8),
  };
}

/** Metadata of a synthetic model's time mixing. */
export function rwkvMetadata({ width, heads }: SyntheticShape): Record<string, GgufValue> {
  const ranks = rwkvRanks(width);
  return {
    'attention.head_count': count(0),
    'wkv.head_size': count(width / heads),
    'attention.decay_lora_rank': count(ranks.decay),
    'attention.iclr_lora_rank': count(ranks.rate),
    'attention.value_residual_mix_lora_rank': count(ranks.value),
    'attention.gate_lora_rank': count(ranks.gate),
  };
}

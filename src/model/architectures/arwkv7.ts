import type { Architecture } from '../architecture.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import type { Norm } from '../blocks/norm.ts';
import { readTimeMix, timeMix } from '../blocks/rwkv7.ts';
import { groupsOf, type LayerSpec } from '../model-config.ts';
import { count } from '../synthetic-family.ts';
import { rwkvMetadata, rwkvRanks } from './rwkv7.ts';

/**
 * ARWKV-7: Qwen with RWKV-7's time mixing instead of attention, in some files without its norm (Lin et al. 2025). Files
 * without a gate are refused, because llama.cpp opens none to compare with.
 */
export const arwkv7: Architecture = {
  names: ['arwkv7'],
  configure(read) {
    const shifts = read.count('token_shift_count', 1);
    if (shifts !== 1) read.refuse('token_shift_count', `${shifts}`, '1: of the time mixing alone');
    const norm: Norm = { kind: 'rms', epsilon: read.real('attention.layer_norm_rms_epsilon') };
    const layer: LayerSpec = {
      sublayers: [
        {
          preNorm: { ...norm, name: 'attn_norm' },
          block: timeMix({ ...readTimeMix(read), norm: 'if there' }),
        },
        {
          preNorm: { ...norm, name: 'ffn_norm' },
          block: feedForward({
            form: 'gated',
            hidden: read.count('feed_forward_length'),
            activation: 'silu',
          }),
        },
      ],
    };
    const layers = Array.from({ length: read.count('block_count') }, () => layer);
    return {
      architecture: read.architecture,
      state: groupsOf(layers),
      width: read.count('embedding_length'),
      trainedContext: read.count('context_length'),
      embedding: {},
      layers,
      head: { kind: 'logits', norm: { ...norm, name: 'output_norm' }, tied: false },
    };
  },
  synthetic: {
    metadata: (shape) => ({ ...rwkvMetadata(shape), token_shift_count: count(1) }),
    shapes: ({ width }) => ({ 'time_mix_lerp_fused.weight': [width, 1, 1, 6] }),
    unused: ({ width }) => {
      const { rate } = rwkvRanks(width);
      return {
        'time_mix_v0.weight': [width],
        'time_mix_v1.weight': [width, rate],
        'time_mix_v2.weight': [rate, width],
      };
    },
  },
};

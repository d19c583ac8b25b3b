import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { mixtureOfExperts, requireExperts } from '../blocks/experts.ts';
import {
  attentionSpec,
  decoder,
  ownWindowRope,
  preNormLayer,
  readDecoder,
  ROPE,
  WINDOW_ROPE,
} from '../stacks/decoder.ts';
import {
  count,
  counts,
  expertMetadata,
  OUTPUT,
  real,
  reals,
  SHORT_WINDOW,
  wideHeads,
} from '../synthetic-family.ts';

/**
 * Maple: sliding windows in the layers that the file names, and RoPE in these alone; experts whose SwiGLU some layers limit. The
 * graph and the names are llama.cpp's.
 */
export const maple: Architecture = {
  names: ['maple'],
  configure(read) {
    const experts = requireExperts(read, { normalized: true, settings: [] });
    const sizes = readDecoder(read, { hidden: experts.hidden });
    const { norm } = sizes;
    const window = read.count('attention.sliding_window');
    const pattern = 'attention.sliding_window_pattern';
    const windowed = read.layerFlags(pattern) ?? read.refuse(pattern, 'nothing', 'a value for each layer');
    const windowRope = ownWindowRope(read, sizes);
    const limit = read.reals('swiglu_clamp_exp', 0);
    const queryNorm = { norm, of: 'head' } as const;
    const local = { window, pairs: 'neox', table: windowRope ? WINDOW_ROPE : ROPE } as const;
    const layerOf = (layer: number) =>
      preNormLayer(
        norm,
        attention(
          attentionSpec(sizes.heads(layer), { pairs: undefined, queryNorm, ...(windowed(layer) && local) }),
        ),
        mixtureOfExperts({ ...experts, activation: 'silu', limit: limit(layer), limited: 'gate' }),
      );
    return decoder(sizes, layerOf, { windowRope });
  },
  synthetic: {
    metadata: (shape) => ({
      ...expertMetadata(shape),
      ...wideHeads(shape),
      'attention.sliding_window': count(SHORT_WINDOW),
      'attention.sliding_window_pattern': counts(shape.layers, (layer) => Number(layer % 4 < 3)),
      'rope.freq_base_swa': real(1000),
      swiglu_clamp_exp: reals(shape.layers, (layer) => (layer === 1 ? 0.05 : 0)),
    }),
    optional: [OUTPUT],
  },
};

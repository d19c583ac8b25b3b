import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { halfRotated, LAYER_NORM_BIASES, OUTPUT, QKV_BIASES } from '../synthetic-family.ts';

/**
 * StableLM 3B and StableLM 2 1.6B: layer norms, and RoPE on part of each head (Bellagamba et al. 2024). Files of the
 * 12B model, with parallel sublayers and Q/K norms, are refused.
 */
export const stablelm: Architecture = {
  names: ['stablelm'],
  configure(read) {
    const sizes = readDecoder(read, { norm: 'layer' });
    return decoder(sizes, (layer) =>
      preNormLayer(
        sizes.norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: 'neox' })),
        feedForward({ form: 'gated', hidden: sizes.hidden(layer), activation: 'silu' }),
      ),
    );
  },
  synthetic: { metadata: halfRotated, optional: [OUTPUT, ...LAYER_NORM_BIASES, ...QKV_BIASES] },
};

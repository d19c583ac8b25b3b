import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { halfRotated, LAYER_NORM_BIASES, OUTPUT } from '../synthetic-family.ts';

/**
 * Nemotron 3 and 4, Minitron: layer norms whose weights are stored minus 1 originally and made whole by converters,
 * RoPE on part of each head, and an ungated feed-forward of squared ReLU (Parmar et al. 2024).
 */
export const nemotron: Architecture = {
  names: ['nemotron'],
  configure(read) {
    const sizes = readDecoder(read, { norm: 'layer' });
    return decoder(sizes, (layer) =>
      preNormLayer(
        sizes.norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: 'neox' })),
        feedForward({ form: 'plain', hidden: sizes.hidden(layer), activation: 'relu_squared' }),
      ),
    );
  },
  synthetic: { metadata: halfRotated, optional: [OUTPUT, ...LAYER_NORM_BIASES] },
};

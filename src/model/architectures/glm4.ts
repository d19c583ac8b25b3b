import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, readDecoder, sandwichNormLayer } from '../stacks/decoder.ts';
import { halfRotated, OUTPUT, QKV_BIASES } from '../synthetic-family.ts';

/**
 * GLM-4-0414: ChatGLM with a second norm after each sublayer. The text half of GLM-4.1V is stored for NeoX RoPE: there,
 * positions have several coordinates, which are equal in texts.
 */
export const glm4: Architecture = {
  names: ['glm4'],
  configure(read) {
    const sizes = readDecoder(read);
    const pairs = read.hasCoordinates() ? 'neox' : 'interleaved';
    if (pairs === 'neox') read.checkSections(sizes.rope.dimensions, 'consecutive');
    return decoder(sizes, (layer) =>
      sandwichNormLayer(
        sizes.norm,
        attention(attentionSpec(sizes.heads(layer), { pairs })),
        feedForward({ form: 'fused', hidden: sizes.hidden(layer), activation: 'silu' }),
      ),
    );
  },
  synthetic: { metadata: halfRotated, optional: [OUTPUT, ...QKV_BIASES] },
};

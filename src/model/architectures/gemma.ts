import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { wideHeads } from '../synthetic-family.ts';

/**
 * Gemma: embeddings scaled by the square root of their width, wide heads, and a GELU-gated feed-forward (Gemma team
 * 2024).
 */
export const gemma: Architecture = {
  names: ['gemma'],
  configure(read) {
    const sizes = readDecoder(read);
    return decoder(
      sizes,
      (layer) =>
        preNormLayer(
          sizes.norm,
          attention(attentionSpec(sizes.heads(layer), { pairs: 'neox' })),
          feedForward({ form: 'gated', hidden: sizes.hidden(layer), activation: 'gelu_tanh' }),
        ),
      { scale: Math.fround(Math.sqrt(sizes.width)) },
    );
  },
  synthetic: { metadata: wideHeads },
};

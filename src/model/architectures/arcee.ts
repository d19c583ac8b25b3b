import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { OUTPUT } from '../synthetic-family.ts';

/** AFM: Llama with an ungated feed-forward of squared ReLU (Arcee 2025; So et al. 2021). */
export const arcee: Architecture = {
  names: ['arcee'],
  configure(read) {
    const sizes = readDecoder(read);
    return decoder(sizes, (layer) =>
      preNormLayer(
        sizes.norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: 'interleaved' })),
        feedForward({ form: 'plain', hidden: sizes.hidden(layer), activation: 'relu_squared' }),
      ),
    );
  },
  synthetic: { optional: [OUTPUT] },
};

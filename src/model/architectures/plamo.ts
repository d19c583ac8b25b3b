import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, parallelLayer, readDecoder } from '../stacks/decoder.ts';
import { OUTPUT } from '../synthetic-family.ts';

/** PLaMo: parallel sublayers after one norm (Preferred Networks 2023). */
export const plamo: Architecture = {
  names: ['plamo'],
  configure(read) {
    const sizes = readDecoder(read);
    return decoder(sizes, (layer) =>
      parallelLayer(
        sizes.norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: 'neox' })),
        feedForward({ form: 'gated', hidden: sizes.hidden(layer), activation: 'silu' }),
      ),
    );
  },
  synthetic: { optional: [OUTPUT] },
};

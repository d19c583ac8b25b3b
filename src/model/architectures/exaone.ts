import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { OUTPUT } from '../synthetic-family.ts';

/** EXAONE 3 and 3.5: Llama with NeoX RoPE (LG AI Research 2024). */
export const exaone: Architecture = {
  names: ['exaone'],
  configure(read) {
    const sizes = readDecoder(read);
    return decoder(sizes, (layer) =>
      preNormLayer(
        sizes.norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: 'neox' })),
        feedForward({ form: 'gated', hidden: sizes.hidden(layer), activation: 'silu' }),
      ),
    );
  },
  synthetic: { optional: [OUTPUT, 'rope_freqs.weight'] },
};

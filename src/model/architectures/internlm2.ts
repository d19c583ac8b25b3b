import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { OUTPUT } from '../synthetic-family.ts';

/** InternLM 2 and 3: Llama; converters split the joint QKV rows (Cai et al. 2024). */
export const internlm2: Architecture = {
  names: ['internlm2'],
  configure(read) {
    const sizes = readDecoder(read);
    return decoder(sizes, (layer) =>
      preNormLayer(
        sizes.norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: 'interleaved' })),
        feedForward({ form: 'gated', hidden: sizes.hidden(layer), activation: 'silu' }),
      ),
    );
  },
  synthetic: { optional: [OUTPUT] },
};

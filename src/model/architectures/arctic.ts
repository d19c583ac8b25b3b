import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { mixtureOfExperts, requireExperts } from '../blocks/experts.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { OUTPUT, wideExperts } from '../synthetic-family.ts';

/** Arctic: a narrow Llama, and beside each of its layers a mixture of experts that reads what enters it (Snowflake 2024). */
export const arctic: Architecture = {
  names: ['arctic'],
  configure(read) {
    const sizes = readDecoder(read);
    const { norm, width } = sizes;
    const experts = requireExperts(read, { normalized: true, hidden: sizes.hidden(0), settings: [] });
    return decoder(sizes, (layer) => {
      const { sublayers } = preNormLayer(
        norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: 'interleaved' })),
        feedForward({ form: 'gated', hidden: width, activation: 'silu' }),
      );
      const beside = {
        reads: 'layer',
        preNorm: { ...norm, name: 'ffn_norm_exps' },
        block: mixtureOfExperts({ ...experts, activation: 'silu' }),
      } as const;
      return { sublayers: [...sublayers, beside] };
    });
  },
  synthetic: { metadata: wideExperts, optional: [OUTPUT] },
};

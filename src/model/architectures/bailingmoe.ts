import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { mixtureOfExperts, requireExperts } from '../blocks/experts.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { count, expertMetadata, flag, OUTPUT } from '../synthetic-family.ts';

/** Ling and Ring 1: Llama with experts and shared experts in every layer (Ling team 2025). */
export const bailingmoe: Architecture = {
  names: ['bailingmoe'],
  configure(read) {
    const experts = requireExperts(read, { shared: 'counted', settings: ['normalized', 'scale'] });
    const sizes = readDecoder(read, { hidden: experts.hidden });
    return decoder(sizes, (layer) =>
      preNormLayer(
        sizes.norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: 'interleaved' })),
        mixtureOfExperts({ ...experts, activation: 'silu' }),
      ),
    );
  },
  synthetic: {
    metadata: (shape) => ({
      ...expertMetadata(shape),
      expert_shared_count: count(2),
      expert_weights_norm: flag(true),
    }),
    optional: [OUTPUT],
  },
};

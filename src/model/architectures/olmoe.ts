import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { mixtureOfExperts, requireExperts } from '../blocks/experts.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { OUTPUT, wideExperts } from '../synthetic-family.ts';

/**
 * OLMoE: Q/K norms over whole rows, and experts in every layer, with routing weights that are not normalized
 * (Muennighoff et al. 2024).
 */
export const olmoe: Architecture = {
  names: ['olmoe'],
  configure(read) {
    const sizes = readDecoder(read);
    const experts = requireExperts(read, { hidden: sizes.hidden(0), settings: [] });
    const queryNorm = { norm: sizes.norm, of: 'row' } as const;
    return decoder(sizes, (layer) =>
      preNormLayer(
        sizes.norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: 'neox', queryNorm })),
        mixtureOfExperts({ ...experts, activation: 'silu' }),
      ),
    );
  },
  synthetic: { metadata: wideExperts, optional: [OUTPUT] },
};

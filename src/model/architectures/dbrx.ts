import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { mixtureOfExperts, requireExperts } from '../blocks/experts.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { OUTPUT, real, wideExperts } from '../synthetic-family.ts';

/** DBRX: layer norms without biases, bounded queries, keys and values, experts in every layer (Databricks 2024). */
export const dbrx: Architecture = {
  names: ['dbrx'],
  configure(read) {
    const sizes = readDecoder(read, { norm: 'layer' });
    const experts = requireExperts(read, { normalized: true, hidden: sizes.hidden(0), settings: [] });
    const clamp = read.real('attention.clamp_kqv');
    return decoder(sizes, (layer) =>
      preNormLayer(
        sizes.norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: 'neox', clamp })),
        mixtureOfExperts({ ...experts, activation: 'silu' }),
        'attn_output_norm',
      ),
    );
  },
  synthetic: {
    metadata: (shape) => ({ ...wideExperts(shape), 'attention.clamp_kqv': real(0.5) }),
    optional: [OUTPUT, 'attn_qkv.weight'],
  },
};

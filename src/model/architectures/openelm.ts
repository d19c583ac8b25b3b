import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { counts, headSizeMetadata } from '../synthetic-family.ts';

/** OpenELM: numbers of heads and widths that grow from layer to layer, Q/K norms, tied embeddings (Mehta et al. 2024). */
export const openelm: Architecture = {
  names: ['openelm'],
  configure(read) {
    const sizes = readDecoder(read);
    const queryNorm = { norm: sizes.norm, of: 'head' } as const;
    return decoder(sizes, (layer) =>
      preNormLayer(
        sizes.norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: 'neox', queryNorm })),
        feedForward({ form: 'gated', hidden: sizes.hidden(layer), activation: 'silu' }),
      ),
    );
  },
  synthetic: {
    metadata: ({ layers, width, heads, kvHeads, hidden }) => ({
      ...headSizeMetadata(width / heads),
      'attention.head_count': counts(layers, (layer) => heads * (layer + 1)),
      'attention.head_count_kv': counts(layers, (layer) => kvHeads * (layer + 1)),
      feed_forward_length: counts(layers, (layer) => hidden + 16 * layer),
    }),
    optional: ['attn_qkv.weight'],
  },
};

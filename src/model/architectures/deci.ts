import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import type { Block } from '../blocks/block.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { linear } from '../blocks/linear.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { counts, headSizeMetadata, OUTPUT } from '../synthetic-family.ts';

/**
 * DeciLM and Llama-Nemotron 49B, 51B and 253B: Llama whose layers differ after a search for the best (Bercovich et al. 2024): they
 * may have no attention, a single product instead of it (heads of queries, but none of keys), or no feed-forward. llama.cpp drops
 * the attention of layers without a feed-forward, which no published model has.
 */
export const deci: Architecture = {
  names: ['deci'],
  configure(read) {
    const sizes = readDecoder(read, { hybrid: true });
    const layerOf = (layer: number) => {
      const heads = sizes.heads(layer);
      const hidden = sizes.hidden(layer);
      const mixer: Block =
        heads.kvHeads > 0 ? attention(attentionSpec(heads, { pairs: 'interleaved' })) : PRODUCT;
      const dense = feedForward({ form: 'gated', hidden, activation: 'silu' });
      const [mixed, fed] = preNormLayer(sizes.norm, mixer, dense).sublayers;
      const sublayers = [heads.heads > 0 && mixed, hidden > 0 && fed].filter((sublayer) => !!sublayer);
      return { sublayers };
    };
    return decoder(sizes, layerOf);
  },
  synthetic: {
    metadata: ({ layers, width, heads, kvHeads, hidden }) => ({
      ...headSizeMetadata(width / heads),
      'attention.head_count': counts(layers, (layer) => (layer === 1 ? 0 : heads)),
      'attention.head_count_kv': counts(layers, (layer) => (layer === 0 ? kvHeads : 0)),
      feed_forward_length: counts(layers, (layer) => hidden + 16 * layer),
    }),
    optional: [OUTPUT, 'rope_freqs.weight'],
  },
};

/** A linear function of a row in place of attention. */
const PRODUCT: Block = {
  kind: 'product',
  spec: {},
  record: (scope, x) => linear(scope, x, { name: 'attn_output', rows: x.width }),
};

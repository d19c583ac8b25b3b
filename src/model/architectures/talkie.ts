import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { OUTPUT, real } from '../synthetic-family.ts';

/**
 * Talkie: norms without weights, those of queries and keys after RoPE with one factor for each query head, and layers that add a
 * multiple of the normalized embeddings. The graph and the names are llama.cpp's.
 */
export const talkie: Architecture = {
  names: ['talkie'],
  configure(read) {
    const own = readDecoder(read);
    const { epsilon } = own.norm;
    const norm = { kind: 'rms', epsilon, factors: 'none' } as const;
    const sizes = { ...own, norm };
    const queryNorm = { norm, of: 'head', factors: 'by query head', place: 'after rotation' } as const;
    const layerOf = (layer: number) => ({
      ...preNormLayer(
        norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: 'neox', queryNorm })),
        feedForward({ form: 'gated', hidden: sizes.hidden(layer), activation: 'silu', scales: 'down' }),
      ),
      scaled: 'embeddings' as const,
    });
    return decoder(sizes, layerOf, {
      norm: { ...norm, name: 'embedding' },
      sharesRows: true,
      logitScale: read.real('logit_scale'),
    });
  },
  synthetic: { metadata: () => ({ logit_scale: real(0.5) }), optional: [OUTPUT] },
};

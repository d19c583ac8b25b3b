import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder, scaledLayer } from '../stacks/decoder.ts';

/**
 * Values that MiniCPM's first files lack, for models of any size: factors for embeddings, depth and width ("μP", Hu et
 * al. 2024).
 */
const FIRST_FILES = { embedding: 12, depth: 1.4, width: 256 } as const;

/** MiniCPM: Llama with factors on the embeddings, the sublayers' outputs and the logits. */
export const minicpm: Architecture = {
  names: ['minicpm'],
  configure(read) {
    const sizes = readDecoder(read);
    // A factor of 0 means that there is none.
    const factor = read.real('residual_scale', FIRST_FILES.depth / Math.sqrt(sizes.layers)) || 1;
    const layerOf = (layer: number) =>
      preNormLayer(
        sizes.norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: 'interleaved' })),
        feedForward({ form: 'gated', hidden: sizes.hidden(layer), activation: 'silu' }),
      );
    return decoder(sizes, (layer) => scaledLayer(layerOf(layer), factor), {
      scale: read.real('embedding_scale', FIRST_FILES.embedding) || 1,
      logitScale: 1 / read.real('logit_scale', FIRST_FILES.width / sizes.width),
    });
  },
  synthetic: {},
};

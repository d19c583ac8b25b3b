import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { mixtureOfExperts, readExperts } from '../blocks/experts.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder, scaledLayer } from '../stacks/decoder.ts';
import { count, OUTPUT, real, wideExperts } from '../synthetic-family.ts';

/**
 * Granite 3 and 4 without recurrence, dense or with experts: Llama with factors on the embeddings, the sublayers'
 * outputs, the scores and the logits (IBM 2024, after "μP", Yang et al. 2022). Files of models without positions mark
 * RoPE as unused.
 */
export const granite: Architecture = {
  names: ['granite', 'granitemoe'],
  configure(read) {
    const sizes = readDecoder(read);
    const pairs = read.flag('rope.scaling.finetuned', true) ? 'interleaved' : undefined;
    const experts = readExperts(read, { normalized: true, hidden: sizes.hidden(0) });
    const factor = read.real('residual_scale', 1, true);
    const layerOf = (layer: number) =>
      preNormLayer(
        sizes.norm,
        attention(attentionSpec(read, sizes.heads(layer), { pairs })),
        experts
          ? mixtureOfExperts({ ...experts, activation: 'silu' })
          : feedForward({ form: 'gated', hidden: sizes.hidden(layer), activation: 'silu' }),
      );
    return decoder(sizes, (layer) => scaledLayer(layerOf(layer), factor), {
      scale: read.real('embedding_scale', 1, true),
      logitScale: 1 / read.real('logit_scale'),
    });
  },
  synthetic: {
    metadata: (shape) => ({
      ...(shape.experts && {
        ...wideExperts(shape),
        expert_shared_feed_forward_length: count(shape.hidden),
      }),
      embedding_scale: real(12),
      residual_scale: real(0.22),
      'attention.scale': real(0.2),
      logit_scale: real(0.5),
    }),
    optional: [OUTPUT],
  },
};

import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { expertsOrDense, readExperts } from '../blocks/experts.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { count, expertMetadata } from '../synthetic-family.ts';

/**
 * ERNIE 4.5, dense or with experts: Llama; with experts, the first layers are dense, and the selection of experts has a
 * bias (Baidu 2025).
 */
export const ernie45: Architecture = {
  names: ['ernie4_5', 'ernie4_5-moe'],
  configure(read) {
    const experts = readExperts(read, { normalized: true, settings: [] });
    const sizes = readDecoder(read);
    const step = read.count('interleave_moe_layer_step', 1);
    if (step !== 1) read.refuse('interleave_moe_layer_step', `${step}`, '1: a mixture in every layer');
    return decoder(sizes, (layer) =>
      preNormLayer(
        sizes.norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: 'interleaved' })),
        expertsOrDense(experts, layer, { hidden: sizes.hidden(layer), activation: 'silu' }),
      ),
    );
  },
  synthetic: {
    metadata: (shape) =>
      shape.experts
        ? {
            ...expertMetadata(shape),
            expert_shared_feed_forward_length: count(shape.hidden),
            interleave_moe_layer_step: count(1),
            leading_dense_block_count: count(1),
          }
        : {},
    optional: ['exp_probs_b.bias'],
  },
};

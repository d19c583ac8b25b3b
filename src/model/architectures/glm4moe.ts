import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { expertsOrDense, requireExperts } from '../blocks/experts.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { count, expertMetadata, flag, halfRotated, OUTPUT, QKV_BIASES, real } from '../synthetic-family.ts';

/**
 * GLM 4.5: a few dense layers, then experts with a selection bias and a shared expert; RoPE on part of each head (GLM
 * team 2025).
 */
export const glm4moe: Architecture = {
  names: ['glm4moe'],
  configure(read) {
    const experts = requireExperts(read, { gate: 'sigmoid', shared: 'counted' });
    if (experts.sharedHidden === 0)
      read.refuse('expert_shared_count', '0', 'at least 1, as in all published files');
    const sizes = readDecoder(read, { hidden: experts.hidden });
    if (read.hasCoordinates()) read.checkSections(sizes.rope.dimensions, 'consecutive');
    // Some layers of some files lack the norms of queries and keys.
    const queryNorm = { norm: sizes.norm, of: 'head', missing: 'allowed' } as const;
    const layerOf = (layer: number) =>
      preNormLayer(
        sizes.norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: 'neox', queryNorm })),
        expertsOrDense(experts, layer, { hidden: sizes.hidden(layer), activation: 'silu' }),
        'post_attention_norm',
      );
    return decoder(sizes, layerOf, { predictor: { reads: 'normed', layer: layerOf } });
  },
  synthetic: {
    metadata: (shape) => ({
      ...expertMetadata(shape),
      ...halfRotated(shape),
      leading_dense_block_count: count(1),
      expert_shared_count: count(1),
      expert_weights_norm: flag(true),
      expert_weights_scale: real(1.5),
    }),
    optional: [OUTPUT, ...QKV_BIASES, 'exp_probs_b.bias', 'attn_q_norm.weight', 'attn_k_norm.weight'],
  },
};

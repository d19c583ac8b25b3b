import type { Architecture } from '../architecture.ts';
import { expertsOrDense, requireExperts } from '../blocks/experts.ts';
import { kimiDeltaAttention, readKimiDelta } from '../blocks/kimi-delta-attention.ts';
import { latentAttention, readLatents } from '../blocks/latent-attention.ts';
import { decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { count, deltaMetadata, deltaShapes, expertMetadata, OUTPUT, real } from '../synthetic-family.ts';

/**
 * Kimi Linear: Kimi delta attention, latent attention without RoPE in the layers that have KV heads, and experts with
 * normalized weights after a few dense layers (Kimi team 2025, "Kimi Linear").
 */
export const kimiLinear: Architecture = {
  names: ['kimi-linear'],
  configure(read) {
    const experts = requireExperts(read, {
      shared: 'counted',
      normalized: true,
      settings: ['gate', 'scale'],
    });
    if (experts.sharedHidden === 0)
      read.refuse('expert_shared_count', '0', 'at least 1, as in all published files');
    const sizes = readDecoder(read, { hidden: experts.hidden, hybrid: true });
    const { norm } = sizes;
    const { heads } = sizes.heads(0);
    const delta = kimiDeltaAttention({ ...readKimiDelta(read), heads, norm, rank: 'head' });
    const attentionOf = (layer: number) => {
      const latents = readLatents(read, sizes.heads(layer), sizes.rope.dimensions);
      const scale = 1 / Math.sqrt(latents.plainSize + latents.rotatedSize);
      return latentAttention({ ...latents, norm, scale });
    };
    return decoder(
      sizes,
      (layer) =>
        preNormLayer(
          norm,
          sizes.heads(layer).kvHeads === 0 ? delta : attentionOf(layer),
          expertsOrDense(experts, layer, { hidden: sizes.hidden(layer), activation: 'silu' }),
        ),
      { isRotary: false },
    );
  },
  synthetic: {
    metadata: (shape) => ({
      ...deltaMetadata(shape),
      ...expertMetadata(shape),
      leading_dense_block_count: count(1),
      expert_shared_count: count(1),
      expert_weights_scale: real(2.5),
      expert_gating_func: count(2),
    }),
    shapes: deltaShapes,
    optional: [OUTPUT, 'exp_probs_b.bias'],
  },
};

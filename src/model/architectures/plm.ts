import type { Architecture } from '../architecture.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { latentAttention, readLatents } from '../blocks/latent-attention.ts';
import { decoder, preNormLayer, readDecoder, ROPE } from '../stacks/decoder.ts';
import { count, latentMetadata } from '../synthetic-family.ts';

/** PLM, for edge devices: latent attention, and an ungated feed-forward with squared ReLU (Deng et al. 2025). */
export const plm: Architecture = {
  names: ['plm'],
  configure(read) {
    const sizes = readDecoder(read);
    const { norm } = sizes;
    return decoder(sizes, (layer) => {
      const latents = readLatents(read, sizes.heads(layer), sizes.rope.dimensions);
      const scale = 1 / Math.sqrt(latents.plainSize + latents.rotatedSize);
      return preNormLayer(
        norm,
        latentAttention({ ...latents, norm, rope: { table: ROPE, pairs: 'interleaved' }, scale }),
        feedForward({ form: 'plain', hidden: sizes.hidden(layer), activation: 'relu_squared' }),
      );
    });
  },
  synthetic: {
    metadata: (shape) => ({ ...latentMetadata(shape, 'expanded'), 'attention.q_lora_rank': count(0) }),
  },
};

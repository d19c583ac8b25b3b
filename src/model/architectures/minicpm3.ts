import type { Architecture } from '../architecture.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { latentAttention, readLatents } from '../blocks/latent-attention.ts';
import { decoder, preNormLayer, readDecoder, ROPE, scaledLayer } from '../stacks/decoder.ts';
import { latentMetadata, OUTPUT } from '../synthetic-family.ts';

/** Values that the files lack, as MiniCPM's first files do: factors for embeddings, depth and width. */
const EMBEDDING_FACTOR = 12;
const DEPTH_FACTOR = 1.4;
const BASE_WIDTH = 256;

/** MiniCPM 3: MiniCPM's factors around latent attention (Hu et al. 2024). */
export const minicpm3: Architecture = {
  names: ['minicpm3'],
  configure(read) {
    const sizes = readDecoder(read);
    const { norm } = sizes;
    const factor = DEPTH_FACTOR / Math.sqrt(sizes.layers);
    const layerOf = (layer: number) => {
      const latents = readLatents(read, sizes.heads(layer), sizes.rope.dimensions);
      const scale = 1 / Math.sqrt(latents.plainSize + latents.rotatedSize);
      return preNormLayer(
        norm,
        latentAttention({ ...latents, norm, rope: { table: ROPE, pairs: 'neox' }, scale }),
        feedForward({ form: 'gated', hidden: sizes.hidden(layer), activation: 'silu' }),
      );
    };
    return decoder(sizes, (layer) => scaledLayer(layerOf(layer), factor), {
      scale: EMBEDDING_FACTOR,
      logitScale: BASE_WIDTH / sizes.width,
    });
  },
  synthetic: { metadata: (shape) => latentMetadata(shape, 'expanded'), optional: [OUTPUT] },
};

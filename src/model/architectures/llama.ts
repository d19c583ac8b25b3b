import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { expertsOrDense, readExperts } from '../blocks/experts.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { expertMetadata, OUTPUT } from '../synthetic-family.ts';

/**
 * Llama 1 to 3, Mistral, Mixtral and other models with the same graph: RMS norm before each sublayer, grouped-query
 * attention with RoPE over a KV cache, a SiLU-gated feed-forward or experts (Touvron et al. 2023; Jiang et al. 2023,
 * 2024).
 */
export const llama: Architecture = {
  names: ['llama', 'mistral'],
  configure(read) {
    const sizes = readDecoder(read);
    const experts = readExperts(read, { normalized: true, hidden: sizes.hidden(0), settings: [] });
    return decoder(sizes, (layer) =>
      preNormLayer(
        sizes.norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: 'interleaved' })),
        expertsOrDense(experts, layer, { hidden: sizes.hidden(layer), activation: 'silu', scales: true }),
      ),
    );
  },
  synthetic: {
    metadata: (shape) => (shape.experts ? expertMetadata(shape) : {}),
    optional: [OUTPUT],
  },
};

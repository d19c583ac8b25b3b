import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { expertsOrDense, requireExperts } from '../blocks/experts.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { count, expertMetadata, OUTPUT, real } from '../synthetic-family.ts';

/**
 * DeepSeek's first mixtures of experts: Llama with many small experts and shared experts, after a dense layer (Dai et
 * al. 2024).
 */
export const deepseek: Architecture = {
  names: ['deepseek'],
  configure(read) {
    const experts = requireExperts(read, { shared: 'counted', settings: ['scale'] });
    const sizes = readDecoder(read, { hidden: experts.hidden });
    return decoder(sizes, (layer) =>
      preNormLayer(
        sizes.norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: 'interleaved' })),
        expertsOrDense(experts, layer, { hidden: sizes.hidden(layer), activation: 'silu' }),
      ),
    );
  },
  synthetic: {
    metadata: (shape) => ({
      ...expertMetadata(shape),
      leading_dense_block_count: count(1),
      expert_shared_count: count(2),
      expert_weights_scale: real(1.5),
    }),
    optional: [OUTPUT],
  },
};

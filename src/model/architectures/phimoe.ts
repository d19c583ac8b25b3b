import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { mixtureOfExperts, requireExperts } from '../blocks/experts.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { count, LAYER_NORM_BIASES, OUTPUT, QKV_BIASES, real, wideExperts } from '../synthetic-family.ts';

/**
 * Phi 3.5 MoE: experts after attention with biases, and separate RoPE factors for long contexts (Abdin et al. 2024). The norms
 * are RMS norms with a bias, as in llama.cpp; the model's authors subtract the mean as well.
 */
export const phimoe: Architecture = {
  names: ['phimoe'],
  configure(read) {
    const sizes = readDecoder(read);
    const experts = requireExperts(read, { normalized: true, hidden: sizes.hidden(0), settings: [] });
    const norm = { ...sizes.norm, bias: 'always' } as const;
    return decoder({ ...sizes, norm }, (layer) =>
      preNormLayer(
        norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: 'neox' })),
        mixtureOfExperts({ ...experts, activation: 'silu' }),
      ),
    );
  },
  synthetic: {
    metadata: (shape) => ({
      ...wideExperts(shape),
      'rope.scaling.original_context_length': count(shape.context / 4),
      'rope.scaling.attn_factor': real(1.19),
    }),
    optional: [
      ...[OUTPUT, 'output.bias', ...QKV_BIASES, 'attn_output.bias', ...LAYER_NORM_BIASES],
      ...['rope_factors_long.weight', 'rope_factors_short.weight'],
    ],
  },
};

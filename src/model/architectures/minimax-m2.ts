import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { mixtureOfExperts, requireExperts } from '../blocks/experts.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { count, OUTPUT, wideExperts, wideHeads } from '../synthetic-family.ts';

/**
 * MiniMax M2: Q/K norms over whole rows, RoPE on part of each head, and experts with a selection bias (MiniMax 2025).
 */
export const minimaxM2: Architecture = {
  names: ['minimax-m2'],
  configure(read) {
    const sizes = readDecoder(read);
    const experts = requireExperts(read, {
      gate: 'sigmoid',
      normalized: true,
      hidden: sizes.hidden(0),
      settings: ['gate'],
    });
    const queryNorm = { norm: sizes.norm, of: 'row' } as const;
    return decoder(sizes, (layer) =>
      preNormLayer(
        sizes.norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: 'neox', queryNorm })),
        mixtureOfExperts({ ...experts, activation: 'silu' }),
      ),
    );
  },
  synthetic: {
    metadata: (shape) => ({
      ...wideExperts(shape),
      ...wideHeads(shape),
      'rope.dimension_count': count(shape.width / shape.heads),
      expert_gating_func: count(2),
    }),
    optional: [OUTPUT, 'exp_probs_b.bias'],
  },
};

import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { expertsOrDense, requireExperts } from '../blocks/experts.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { count, expertMetadata, flag, OUTPUT, real } from '../synthetic-family.ts';

/**
 * dots.llm1: Q/K norms, and experts with a shared expert and a selection bias after a few dense layers (Huo et al.
 * 2025).
 */
export const dots1: Architecture = {
  names: ['dots1'],
  configure(read) {
    const experts = requireExperts(read, { gate: 'sigmoid', shared: 'counted' });
    const sizes = readDecoder(read, { hidden: experts.hidden });
    const queryNorm = { norm: sizes.norm, of: 'head' } as const;
    return decoder(sizes, (layer) =>
      preNormLayer(
        sizes.norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: 'neox', queryNorm })),
        expertsOrDense(experts, layer, { hidden: sizes.hidden(layer), activation: 'silu' }),
      ),
    );
  },
  synthetic: {
    metadata: (shape) => ({
      ...expertMetadata(shape),
      leading_dense_block_count: count(1),
      expert_shared_count: count(2),
      expert_weights_norm: flag(true),
      expert_weights_scale: real(2.5),
      expert_gating_func: count(2),
    }),
    optional: [OUTPUT, 'exp_probs_b.bias'],
  },
};

import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { expertsOrDense, requireExperts } from '../blocks/experts.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { count, expertMetadata, flag, halfRotated, OUTPUT, real } from '../synthetic-family.ts';

/**
 * Ling and Ring 2: Q/K norms, and experts selected by group, with shared experts, after a few dense layers (Ling team
 * 2025).
 */
export const bailingmoe2: Architecture = {
  names: ['bailingmoe2'],
  configure(read) {
    const own = requireExperts(read, { gate: 'sigmoid' });
    const sharedHidden = read.countOrZero('expert_shared_count') * (own.sharedHidden || own.hidden);
    const experts = { ...own, sharedHidden };
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
      ...halfRotated(shape),
      leading_dense_block_count: count(1),
      expert_shared_count: count(1),
      expert_group_count: count(4),
      expert_group_used_count: count(2),
      expert_weights_norm: flag(true),
      expert_weights_scale: real(2.5),
      expert_gating_func: count(2),
    }),
    optional: [OUTPUT, 'attn_qkv.weight', 'exp_probs_b.bias'],
  },
};

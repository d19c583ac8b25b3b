import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { expertsOrDense, requireExperts } from '../blocks/experts.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { count, expertMetadata, flag, OUTPUT, real, SHORT_WINDOW, wideHeads } from '../synthetic-family.ts';

/**
 * K-EXAONE: Q/K norms, a sliding window in three of four layers, which alone use RoPE, and experts with a shared expert
 * after a few dense layers (LG AI Research 2025).
 */
export const exaoneMoe: Architecture = {
  names: ['exaone-moe'],
  configure(read) {
    const own = requireExperts(read, { gate: 'sigmoid' });
    const shared = read.countOrZero('expert_shared_count') || 1;
    const experts = { ...own, sharedHidden: own.sharedHidden || own.hidden * shared };
    const sizes = readDecoder(read, { hidden: experts.hidden });
    const window = read.count('attention.sliding_window', 128);
    const windowed = read.windowed(4);
    const queryNorm = { norm: sizes.norm, of: 'head' } as const;
    return decoder(sizes, (layer) => {
      const place = windowed(layer) ? ({ pairs: 'neox', window } as const) : { pairs: undefined };
      return preNormLayer(
        sizes.norm,
        attention(attentionSpec(sizes.heads(layer), { ...place, queryNorm })),
        expertsOrDense(experts, layer, { hidden: sizes.hidden(layer), activation: 'silu' }),
      );
    });
  },
  synthetic: {
    metadata: (shape) => ({
      ...expertMetadata(shape),
      ...wideHeads(shape),
      leading_dense_block_count: count(1),
      expert_shared_count: count(1),
      expert_weights_norm: flag(true),
      expert_weights_scale: real(2.5),
      expert_gating_func: count(2),
      'attention.sliding_window': count(SHORT_WINDOW),
    }),
    optional: [OUTPUT, 'exp_probs_b.bias'],
  },
};

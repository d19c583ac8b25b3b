import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { expertsOrDense, requireExperts } from '../blocks/experts.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { count, expertMetadata, flag, OUTPUT, real, wideHeads } from '../synthetic-family.ts';

/** Hy 3: Q/K norms, and experts with a selection bias and a shared expert after a few dense layers (Tencent 2026). */
export const hyV3: Architecture = {
  names: ['hy_v3'],
  configure(read) {
    const own = requireExperts(read, { gate: 'sigmoid' });
    const experts = { ...own, sharedHidden: own.sharedHidden || own.hidden };
    const sizes = readDecoder(read, { hidden: experts.hidden });
    const queryNorm = { norm: sizes.norm, of: 'head' } as const;
    const layerOf = (layer: number) =>
      preNormLayer(
        sizes.norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: 'neox', queryNorm })),
        expertsOrDense(experts, layer, { hidden: sizes.hidden(layer), activation: 'silu', scales: true }),
      );
    return decoder(sizes, layerOf, { predictor: { reads: 'normed', layer: layerOf } });
  },
  synthetic: {
    metadata: (shape) => ({
      ...expertMetadata(shape),
      ...wideHeads(shape),
      leading_dense_block_count: count(1),
      expert_weights_norm: flag(true),
      expert_weights_scale: real(2.5),
    }),
    optional: [OUTPUT, 'exp_probs_b'],
  },
};

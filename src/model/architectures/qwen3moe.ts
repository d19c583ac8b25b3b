import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { mixtureOfExperts, readExperts } from '../blocks/experts.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { expertMetadata, OUTPUT, wideHeads } from '../synthetic-family.ts';

/** Qwen 3 with experts in every layer, with normalized routing weights (Yang et al. 2025). */
export const qwen3moe: Architecture = {
  names: ['qwen3moe'],
  configure(read) {
    const experts = readExperts(read, { normalized: true, settings: [] });
    const sizes = readDecoder(read, { hidden: experts?.hidden });
    const queryNorm = { norm: sizes.norm, of: 'head' } as const;
    return decoder(sizes, (layer) =>
      preNormLayer(
        sizes.norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: 'neox', queryNorm })),
        experts && layer >= experts.leadingDense
          ? mixtureOfExperts({ ...experts, activation: 'silu', scales: true })
          : feedForward({ form: 'gated', hidden: sizes.hidden(layer), activation: 'silu' }),
      ),
    );
  },
  synthetic: {
    metadata: (shape) => ({ ...expertMetadata(shape), ...wideHeads(shape) }),
    optional: [OUTPUT],
  },
};

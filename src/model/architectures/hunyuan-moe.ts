import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { mixtureOfExperts, requireExperts } from '../blocks/experts.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { OUTPUT, wideExperts } from '../synthetic-family.ts';

/** Hunyuan with experts: Q/K norms after RoPE, and experts with a shared expert in every layer (Tencent 2025). */
export const hunyuanMoe: Architecture = {
  names: ['hunyuan-moe'],
  configure(read) {
    const sizes = readDecoder(read);
    const experts = requireExperts(read, { normalized: true, hidden: sizes.hidden(0), settings: [] });
    const queryNorm = { norm: sizes.norm, of: 'head', place: 'after rotation' } as const;
    return decoder(sizes, (layer) => {
      // If the file has no width for the shared expert, it is the feed-forward's.
      const sharedHidden = experts.sharedHidden || sizes.hidden(layer);
      return preNormLayer(
        sizes.norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: 'neox', queryNorm })),
        mixtureOfExperts({ ...experts, sharedHidden, activation: 'silu' }),
      );
    });
  },
  synthetic: { metadata: wideExperts, optional: [OUTPUT] },
};

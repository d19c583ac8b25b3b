import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import type { RankTraits } from '../stacks/embedding-head.ts';
import { wideHeads } from '../synthetic-family.ts';

/** Qwen3-Reranker: the logits of `yes` and `no` behind the prompt's last token. */
const RANK: RankTraits = { row: 'last', activation: 'tanh', isNormalized: true };

/** Qwen 3: Q/K norms before RoPE (Yang et al. 2025). */
export const qwen3: Architecture = {
  names: ['qwen3'],
  configure(read) {
    const sizes = readDecoder(read, { rank: RANK });
    const queryNorm = { norm: sizes.norm, of: 'head' } as const;
    return decoder(sizes, (layer) =>
      preNormLayer(
        sizes.norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: 'neox', queryNorm })),
        feedForward({ form: 'gated', hidden: sizes.hidden(layer), activation: 'silu', scales: true }),
      ),
    );
  },
  synthetic: { metadata: wideHeads },
};

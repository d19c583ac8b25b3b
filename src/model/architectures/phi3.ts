import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { count, OUTPUT, real } from '../synthetic-family.ts';

/**
 * Phi 3, 3.5 and 4: joint matrices for gate and up and for QKV, and separate RoPE factors for long contexts (Abdin et
 * al. 2024). The files' sliding windows are not applied, as in llama.cpp, with a warning.
 */
export const phi3: Architecture = {
  names: ['phi3'],
  configure(read) {
    const sizes = readDecoder(read);
    return decoder(sizes, (layer) =>
      preNormLayer(
        sizes.norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: 'neox' })),
        feedForward({ form: 'fused', hidden: sizes.hidden(layer), activation: 'silu' }),
      ),
    );
  },
  synthetic: {
    metadata: ({ context }) => ({
      'rope.scaling.original_context_length': count(context / 4),
      'rope.scaling.attn_factor': real(1.19),
    }),
    optional: [OUTPUT, 'attn_qkv.weight', 'rope_factors_long.weight', 'rope_factors_short.weight'],
  },
};

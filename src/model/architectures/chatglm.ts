import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { halfRotated, OUTPUT } from '../synthetic-family.ts';

/**
 * ChatGLM 3 and GLM-4-9B: few key heads, a bias of the one matrix for query, key and value, half of each head rotated by
 * neighbours, gate and up in one matrix (GLM team 2024).
 */
export const chatglm: Architecture = {
  names: ['chatglm'],
  configure(read) {
    const sizes = readDecoder(read);
    return decoder(sizes, (layer) =>
      preNormLayer(
        sizes.norm,
        attention(attentionSpec(read, sizes.heads(layer), { pairs: 'interleaved' })),
        feedForward({ form: 'fused', hidden: sizes.hidden(layer), activation: 'silu' }),
      ),
    );
  },
  synthetic: { metadata: halfRotated, optional: [OUTPUT, 'attn_qkv.weight', 'attn_qkv.bias'] },
};

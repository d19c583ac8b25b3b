import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { halfRotated, OUTPUT } from '../synthetic-family.ts';

/**
 * ChatGLM 3 and GLM-4-9B: few key heads, a joint QKV matrix with bias, interleaved RoPE on half of each head, a joint
 * matrix for gate and up (GLM team 2024).
 */
export const chatglm: Architecture = {
  names: ['chatglm'],
  configure(read) {
    const sizes = readDecoder(read);
    return decoder(sizes, (layer) =>
      preNormLayer(
        sizes.norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: 'interleaved' })),
        feedForward({ form: 'fused', hidden: sizes.hidden(layer), activation: 'silu' }),
      ),
    );
  },
  synthetic: { metadata: halfRotated, optional: [OUTPUT, 'attn_qkv.weight', 'attn_qkv.bias'] },
};

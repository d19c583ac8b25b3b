import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { LAYER_NORM_BIASES, OUTPUT, real } from '../synthetic-family.ts';

/**
 * Jais: layer norms, a gated feed-forward, biases everywhere, and ALiBi; scores are divided by the size of a head, not by its
 * square root (Sengupta et al. 2023).
 */
export const jais: Architecture = {
  names: ['jais'],
  configure(read) {
    const sizes = readDecoder(read, { norm: 'layer' });
    const alibiBias = read.real('attention.max_alibi_bias', 0);
    if (alibiBias <= 0) read.refuse('attention.max_alibi_bias', `${alibiBias}`, 'above 0');
    const layerOf = (layer: number) => {
      const heads = sizes.heads(layer);
      const scale = 1 / heads.keySize;
      return preNormLayer(
        sizes.norm,
        attention(attentionSpec(heads, { pairs: undefined, alibiBias, scale })),
        feedForward({ form: 'gated', hidden: sizes.hidden(layer), activation: 'silu' }),
      );
    };
    return decoder(sizes, layerOf, { isRotary: false });
  },
  synthetic: {
    metadata: () => ({ 'attention.max_alibi_bias': real(8) }),
    optional: [
      OUTPUT,
      ...LAYER_NORM_BIASES,
      'attn_qkv.weight',
      'attn_qkv.bias',
      'attn_output.bias',
      'ffn_gate.bias',
      'ffn_up.bias',
      'ffn_down.bias',
    ],
  },
};

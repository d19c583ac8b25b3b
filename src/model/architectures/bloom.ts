import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { LAYER_NORM_BIASES } from '../synthetic-family.ts';

/** ALiBi's exponent, which files do not store. */
const ALIBI_BIAS = 8;

/** BLOOM: GPT-2 with ALiBi instead of positions, and a norm of the embeddings (BigScience 2022). */
export const bloom: Architecture = {
  names: ['bloom'],
  configure(read) {
    const sizes = readDecoder(read, { norm: 'layer' });
    const { norm } = sizes;
    const layerOf = (layer: number) =>
      preNormLayer(
        norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: undefined, alibiBias: ALIBI_BIAS })),
        feedForward({ form: 'plain', hidden: sizes.hidden(layer), activation: 'gelu_tanh' }),
      );
    return decoder(sizes, layerOf, { isRotary: false, norm: { ...norm, name: 'token_embd_norm' } });
  },
  synthetic: {
    optional: [
      'token_embd_norm.bias',
      ...LAYER_NORM_BIASES,
      'attn_qkv.weight',
      'attn_qkv.bias',
      'attn_output.bias',
      'ffn_up.bias',
      'ffn_down.bias',
    ],
  },
};

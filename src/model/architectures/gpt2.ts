import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { LAYER_NORM_BIASES, OUTPUT } from '../synthetic-family.ts';

/** GPT-2: learned positions, layer norms, an ungated feed-forward, and biases everywhere (Radford et al. 2019). */
export const gpt2: Architecture = {
  names: ['gpt2'],
  configure(read) {
    const sizes = readDecoder(read, { norm: 'layer' });
    const layerOf = (layer: number) =>
      preNormLayer(
        sizes.norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: undefined })),
        feedForward({ form: 'plain', hidden: sizes.hidden(layer), activation: 'gelu_tanh' }),
      );
    return decoder(sizes, layerOf, { learnedPositions: sizes.trainedContext });
  },
  synthetic: {
    optional: [
      OUTPUT,
      ...LAYER_NORM_BIASES,
      'attn_qkv.weight',
      'attn_qkv.bias',
      'attn_output.bias',
      'ffn_up.bias',
      'ffn_down.bias',
    ],
  },
};

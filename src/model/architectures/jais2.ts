import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { LAYER_NORM_BIASES, OUTPUT, QKV_BIASES } from '../synthetic-family.ts';

/** Jais 2: layer norms, RoPE, an ungated feed-forward of squared ReLU, biases everywhere (Inception 2025). */
export const jais2: Architecture = {
  names: ['jais2'],
  configure(read) {
    const sizes = readDecoder(read, { norm: 'layer' });
    return decoder(sizes, (layer) =>
      preNormLayer(
        sizes.norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: 'neox' })),
        feedForward({ form: 'plain', hidden: sizes.hidden(layer), activation: 'relu_squared' }),
      ),
    );
  },
  synthetic: {
    optional: [
      OUTPUT,
      ...LAYER_NORM_BIASES,
      ...QKV_BIASES,
      'attn_output.bias',
      'ffn_up.bias',
      'ffn_down.bias',
    ],
  },
};

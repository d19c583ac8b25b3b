import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { LAYER_NORM_BIASES, QKV_BIASES } from '../synthetic-family.ts';

/** StarCoder 2: layer norms, an ungated feed-forward, and biases everywhere (Lozhkov et al. 2024). */
export const starcoder2: Architecture = {
  names: ['starcoder2'],
  configure(read) {
    const sizes = readDecoder(read, { norm: 'layer' });
    return decoder(sizes, (layer) =>
      preNormLayer(
        sizes.norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: 'neox' })),
        feedForward({ form: 'plain', hidden: sizes.hidden(layer), activation: 'gelu_tanh' }),
      ),
    );
  },
  synthetic: {
    optional: [...LAYER_NORM_BIASES, ...QKV_BIASES, 'attn_output.bias', 'ffn_up.bias', 'ffn_down.bias'],
  },
};

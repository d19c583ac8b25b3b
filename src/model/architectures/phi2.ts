import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, parallelLayer, readDecoder } from '../stacks/decoder.ts';
import { halfRotated, LAYER_NORM_BIASES, OUTPUT, QKV_BIASES } from '../synthetic-family.ts';

/** Phi 1, 1.5 and 2: parallel sublayers after one norm, RoPE on part of each head, biases everywhere. */
export const phi2: Architecture = {
  names: ['phi2'],
  configure(read) {
    const sizes = readDecoder(read, { norm: 'layer' });
    return decoder(sizes, (layer) =>
      parallelLayer(
        sizes.norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: 'neox' })),
        feedForward({ form: 'plain', hidden: sizes.hidden(layer), activation: 'gelu_tanh' }),
      ),
    );
  },
  synthetic: {
    metadata: halfRotated,
    optional: [
      OUTPUT,
      'output.bias',
      ...LAYER_NORM_BIASES,
      ...QKV_BIASES,
      'attn_output.bias',
      'ffn_up.bias',
      'ffn_down.bias',
    ],
  },
};

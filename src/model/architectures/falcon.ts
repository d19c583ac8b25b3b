import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, parallelLayer, readDecoder } from '../stacks/decoder.ts';
import { LAYER_NORM_BIASES, OUTPUT } from '../synthetic-family.ts';

/**
 * Falcon 7B: parallel sublayers after one norm, one head of keys and values (Almazrouei et al. 2023). Files of the 40B
 * model, with a norm for each sublayer, are refused.
 */
export const falcon: Architecture = {
  names: ['falcon'],
  configure(read) {
    const sizes = readDecoder(read, { norm: 'layer' });
    return decoder(sizes, (layer) =>
      parallelLayer(
        sizes.norm,
        attention(attentionSpec(read, sizes.heads(layer), { pairs: 'neox' })),
        feedForward({ form: 'plain', hidden: sizes.hidden(layer), activation: 'gelu_tanh' }),
      ),
    );
  },
  synthetic: { optional: [OUTPUT, ...LAYER_NORM_BIASES, 'attn_qkv.weight'] },
};

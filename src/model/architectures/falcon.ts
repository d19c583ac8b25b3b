import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, parallelLayer, readDecoder } from '../stacks/decoder.ts';
import { LAYER_NORM_BIASES, OUTPUT } from '../synthetic-family.ts';

/** Falcon 7B and 40B: parallel sublayers after one norm or, in 40B, one for each (Almazrouei et al. 2023). */
export const falcon: Architecture = {
  names: ['falcon'],
  configure(read) {
    const sizes = readDecoder(read, { norm: 'layer' });
    const ofAttention = { ...sizes.norm, name: 'attn_norm_2', otherwise: 'attn_norm' };
    return decoder(sizes, (layer) => {
      const block = attention(attentionSpec(sizes.heads(layer), { pairs: 'neox' }));
      const dense = feedForward({ form: 'plain', hidden: sizes.hidden(layer), activation: 'gelu_tanh' });
      const { sublayers } = parallelLayer(sizes.norm, block, dense);
      return { sublayers: [{ block, preNorm: ofAttention }, ...sublayers.slice(1)] };
    });
  },
  synthetic: { optional: [OUTPUT, ...LAYER_NORM_BIASES, 'attn_qkv.weight'] },
};

import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';

/** BitNet b1.58: ternary weights, and further norms before the last products of both sublayers (Ma et al. 2024). */
export const bitnet: Architecture = {
  names: ['bitnet'],
  configure(read) {
    const sizes = readDecoder(read);
    const { norm } = sizes;
    return decoder(sizes, (layer) =>
      preNormLayer(
        norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: 'neox', resultNorm: norm })),
        feedForward({
          form: 'gated',
          hidden: sizes.hidden(layer),
          activation: 'silu',
          hiddenNorm: norm,
          scales: true,
        }),
      ),
    );
  },
  synthetic: {
    optional: ['attn_q', 'attn_k', 'attn_v', 'attn_output', 'ffn_gate', 'ffn_up', 'ffn_down'].map(
      (name) => `${name}.scale`,
    ),
  },
};

import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import {
  attentionSpec,
  decoder,
  ownWindowRope,
  readDecoder,
  sandwichNormLayer,
  ROPE,
  WINDOW_ROPE,
} from '../stacks/decoder.ts';
import { count, real, SHORT_WINDOW, wideHeads } from '../synthetic-family.ts';

/** Only the 27B model scales its scores by width / heads instead of `attention.key_length`. */
const LAYERS_OF_27B = 46;

/**
 * Gemma 2: embeddings scaled by the square root of their width, norms before and after each sublayer, soft caps on
 * scores and logits, and a sliding window in every other layer (Gemma team 2024).
 */
export const gemma2: Architecture = {
  names: ['gemma2'],
  configure(read) {
    const sizes = readDecoder(read);
    const { norm, width } = sizes;
    const softCap = read.real('attn_logit_softcapping', 50);
    const window = read.count('attention.sliding_window', 4096);
    const windowed = read.windowed(2);
    const windowRope = ownWindowRope(read, sizes);
    const layerOf = (layer: number) => {
      const heads = sizes.heads(layer);
      const scale =
        read.count('block_count') === LAYERS_OF_27B ? 1 / Math.sqrt(width / heads.heads) : undefined;
      const local = windowed(layer) && { window, table: windowRope ? WINDOW_ROPE : ROPE };
      return sandwichNormLayer(
        norm,
        attention(attentionSpec(heads, { pairs: 'neox', softCap, scale, ...local })),
        feedForward({ form: 'gated', hidden: sizes.hidden(layer), activation: 'gelu_tanh' }),
      );
    };
    return decoder(sizes, layerOf, {
      scale: Math.fround(Math.sqrt(width)),
      softCap: read.real('final_logit_softcapping', 30),
      windowRope,
    });
  },
  synthetic: {
    metadata: (shape) => ({
      ...wideHeads(shape),
      'attention.sliding_window': count(SHORT_WINDOW),
      attn_logit_softcapping: real(50),
      final_logit_softcapping: real(30),
    }),
  },
};

import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import {
  attentionSpec,
  decoder,
  readDecoder,
  sandwichNormLayer,
  unscaledRope,
  WINDOW_ROPE,
} from '../stacks/decoder.ts';
import { count, real, SHORT_WINDOW, text, wideHeads } from '../synthetic-family.ts';

/** Only the 27B model scales its scores by width / heads instead of `attention.key_length`. */
const LAYERS_OF_27B = 62;

/**
 * Gemma 3: Q/K norms instead of Gemma 2's soft caps; five of six layers have a sliding window, and separate RoPE
 * frequencies (Gemma team 2025).
 */
export const gemma3: Architecture = {
  names: ['gemma3'],
  configure(read) {
    const sizes = readDecoder(read);
    const { norm, width, fileRope } = sizes;
    const window = read.real('attention.sliding_window', 0) || undefined;
    const windowed = read.windowed(6);
    const queryNorm = { norm, of: 'head' } as const;
    const windowRope = unscaledRope({ ...fileRope, base: read.real('rope.freq_base_swa', 10_000) });
    const layerOf = (layer: number) => {
      const heads = sizes.heads(layer);
      const scale =
        read.count('block_count') === LAYERS_OF_27B ? 1 / Math.sqrt(width / heads.heads) : undefined;
      const local = window !== undefined && windowed(layer) && { window, table: WINDOW_ROPE };
      return sandwichNormLayer(
        norm,
        attention(attentionSpec(heads, { pairs: 'neox', queryNorm, scale, ...local })),
        feedForward({ form: 'gated', hidden: sizes.hidden(layer), activation: 'gelu_tanh' }),
      );
    };
    return decoder(sizes, layerOf, {
      scale: Math.fround(Math.sqrt(width)),
      softCap: read.real('final_logit_softcapping', 0) || undefined,
      windowRope,
    });
  },
  synthetic: {
    metadata: (shape) => ({
      ...wideHeads(shape),
      'attention.sliding_window': count(SHORT_WINDOW),
      'rope.scaling.type': text('linear'),
      'rope.scaling.factor': real(8),
    }),
  },
};

import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import {
  attentionSpec,
  decoder,
  ownWindowRope,
  preNormLayer,
  readDecoder,
  ROPE,
  WINDOW_ROPE,
} from '../stacks/decoder.ts';
import { count, counts, real, SHORT_WINDOW } from '../synthetic-family.ts';

/** Spark 2.5: attention gated head by head, GELU, sliding windows with their own RoPE frequencies (iFlytek 2026). */
export const spark25: Architecture = {
  names: ['spark2_5'],
  configure(read) {
    const sizes = readDecoder(read);
    const window = read.count('attention.sliding_window');
    const pattern = 'attention.sliding_window_pattern';
    const windowed = read.layerFlags(pattern) ?? read.refuse(pattern, 'nothing', 'a value for each layer');
    const windowRope = ownWindowRope(read, sizes);
    const layerOf = (layer: number) => {
      const local = windowed(layer) && { window, table: windowRope ? WINDOW_ROPE : ROPE };
      return preNormLayer(
        sizes.norm,
        attention(
          attentionSpec(sizes.heads(layer), {
            pairs: 'neox',
            outputGate: 'attn_gate by head',
            ...local,
          }),
        ),
        feedForward({ form: 'gated', hidden: sizes.hidden(layer), activation: 'gelu_tanh' }),
      );
    };
    return decoder(sizes, layerOf, { windowRope });
  },
  synthetic: {
    metadata: ({ layers }) => ({
      'attention.sliding_window': count(SHORT_WINDOW),
      'attention.sliding_window_pattern': counts(layers, (layer) => layer % 2),
      'rope.freq_base_swa': real(1000),
    }),
    optional: ['attn_gate.weight'],
  },
};

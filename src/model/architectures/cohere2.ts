import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, parallelLayer, readDecoder } from '../stacks/decoder.ts';
import { count, real, SHORT_WINDOW } from '../synthetic-family.ts';

/**
 * Command R7B and Command A: Command R with a sliding window in three of four layers; the others attend to all
 * positions, without RoPE (Cohere 2025).
 */
export const cohere2: Architecture = {
  names: ['cohere2'],
  configure(read) {
    const sizes = readDecoder(read, { norm: 'layer' });
    const window = read.count('attention.sliding_window');
    const windowed = read.windowed(4);
    const layerOf = (layer: number) => {
      const place = windowed(layer) ? ({ pairs: 'interleaved', window } as const) : { pairs: undefined };
      return parallelLayer(
        sizes.norm,
        attention(attentionSpec(sizes.heads(layer), place)),
        feedForward({ form: 'gated', hidden: sizes.hidden(layer), activation: 'silu', scales: true }),
      );
    };
    return decoder(sizes, layerOf, { logitScale: read.real('logit_scale', 1, true) });
  },
  synthetic: {
    metadata: () => ({ logit_scale: real(0.25), 'attention.sliding_window': count(SHORT_WINDOW) }),
  },
};

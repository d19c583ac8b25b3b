import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, outputNormLayer, readDecoder } from '../stacks/decoder.ts';
import { OUTPUT } from '../synthetic-family.ts';

/** Only the 32B model has windows, in three of four layers. */
const LAYERS_OF_32B = 64;

/**
 * EXAONE 4: norms after each sublayer, and Q/K norms; if some layers have a window, those without one do not use RoPE
 * (LG AI Research 2025).
 */
export const exaone4: Architecture = {
  names: ['exaone4'],
  configure(read) {
    const sizes = readDecoder(read);
    const { norm } = sizes;
    const isWindowed = read.count('block_count') === LAYERS_OF_32B;
    const window = isWindowed ? read.count('attention.sliding_window', 4096) : undefined;
    const windowed = read.windowed(4);
    const queryNorm = { norm, of: 'head' } as const;
    return decoder(sizes, (layer) => {
      const place =
        isWindowed && !windowed(layer) ? { pairs: undefined } : ({ pairs: 'neox', window } as const);
      return outputNormLayer(
        norm,
        attention(attentionSpec(sizes.heads(layer), { ...place, queryNorm })),
        feedForward({ form: 'gated', hidden: sizes.hidden(layer), activation: 'silu' }),
      );
    });
  },
  synthetic: { optional: [OUTPUT] },
};

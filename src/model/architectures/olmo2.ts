import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, outputNormLayer, readDecoder, WINDOW_ROPE } from '../stacks/decoder.ts';
import { OUTPUT } from '../synthetic-family.ts';

/**
 * OLMo 2: norms after each sublayer instead of before, and Q/K norms over whole rows (OLMo team 2025). Files of OLMo 3
 * have the same name: three of four layers have a sliding window, and their RoPE is not scaled.
 */
export const olmo2: Architecture = {
  names: ['olmo2'],
  configure(read) {
    const sizes = readDecoder(read);
    const { norm, fileRope } = sizes;
    const window = read.countOrZero('attention.sliding_window') || undefined;
    const windowed = read.windowed(4);
    const queryNorm = { norm, of: 'row' } as const;
    const layerOf = (layer: number) => {
      const local = window !== undefined && windowed(layer) && { window, table: WINDOW_ROPE };
      return outputNormLayer(
        norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: 'neox', queryNorm, ...local })),
        feedForward({ form: 'gated', hidden: sizes.hidden(layer), activation: 'silu' }),
      );
    };
    if (window === undefined) return decoder(sizes, layerOf);
    const base = read.real('rope.freq_base_swa', fileRope.base);
    return decoder(sizes, layerOf, { windowRope: { ...fileRope, base, scaling: { kind: 'none' } } });
  },
  synthetic: { optional: [OUTPUT] },
};

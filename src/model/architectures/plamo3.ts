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
  withBareNorms,
} from '../stacks/decoder.ts';
import { count, OUTPUT, real, SHORT_WINDOW } from '../synthetic-family.ts';

/**
 * PLaMo 3: norms before and after each sublayer, Q/K norms, joint matrices, and sliding windows with their own RoPE frequencies in
 * seven of eight layers (Preferred Networks 2025).
 */
export const plamo3: Architecture = {
  names: ['plamo3'],
  configure(read) {
    const sizes = readDecoder(read);
    const { norm, fileRope } = sizes;
    const window = read.countOrZero('attention.sliding_window') || undefined;
    const windowed = read.windowed(8);
    const queryNorm = { norm, of: 'head' } as const;
    const layerOf = (layer: number) => {
      const local = window !== undefined && windowed(layer) && { window, table: WINDOW_ROPE };
      return withBareNorms(
        sandwichNormLayer(
          norm,
          attention(attentionSpec(sizes.heads(layer), { pairs: 'neox', queryNorm, ...local })),
          feedForward({ form: 'fused', hidden: sizes.hidden(layer), activation: 'silu' }),
        ),
      );
    };
    if (window === undefined) return decoder(sizes, layerOf);
    const base = read.real('rope.freq_base_swa', 10_000);
    return decoder(sizes, layerOf, { windowRope: unscaledRope({ ...fileRope, base }) });
  },
  synthetic: {
    metadata: () => ({
      'attention.sliding_window': count(SHORT_WINDOW),
      'attention.sliding_window_pattern': count(2),
      'rope.freq_base_swa': real(1000),
    }),
    optional: [OUTPUT, 'attn_qkv.weight'],
  },
};

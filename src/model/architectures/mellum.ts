import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { mixtureOfExperts, requireExperts } from '../blocks/experts.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder, WINDOW_ROPE } from '../stacks/decoder.ts';
import { count, expertMetadata, OUTPUT, real, SHORT_WINDOW, text, wideHeads } from '../synthetic-family.ts';

/**
 * Mellum 2: Qwen 3 with experts, with a sliding window in three of four layers, whose RoPE is not scaled (JetBrains
 * 2026).
 */
export const mellum: Architecture = {
  names: ['mellum'],
  configure(read) {
    const experts = requireExperts(read, { normalized: true, settings: [] });
    const sizes = readDecoder(read, { hidden: experts.hidden });
    const { norm, fileRope } = sizes;
    const window = read.countOrZero('attention.sliding_window') || undefined;
    const windowed = read.windowed(4);
    const queryNorm = { norm, of: 'head' } as const;
    const layerOf = (layer: number) => {
      const isLocal = window !== undefined && windowed(layer);
      const place = isLocal && { window, table: WINDOW_ROPE };
      return preNormLayer(
        norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: 'neox', queryNorm, ...place })),
        mixtureOfExperts({ ...experts, activation: 'silu', scales: true }),
      );
    };
    if (window === undefined) return decoder(sizes, layerOf);
    return decoder(sizes, layerOf, { windowRope: { ...fileRope, scaling: { kind: 'none' } } });
  },
  synthetic: {
    metadata: (shape) => ({
      ...expertMetadata(shape),
      ...wideHeads(shape),
      'attention.sliding_window': count(SHORT_WINDOW),
      'rope.scaling.type': text('linear'),
      'rope.scaling.factor': real(4),
    }),
    optional: [OUTPUT],
  },
};

import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { expertsOrDense, readExperts } from '../blocks/experts.ts';
import {
  attentionSpec,
  decoder,
  fileScale,
  preNormLayer,
  readDecoder,
  scaledLayer,
} from '../stacks/decoder.ts';
import { counts, count, OUTPUT, real, SHORT_WINDOW } from '../synthetic-family.ts';

/**
 * Granite with sliding windows: attention sinks, a window in the layers that the file names, and RoPE in those that it names
 * (IBM 2026). Files with a shared expert are refused.
 */
export const graniteSwa: Architecture = {
  names: ['granite_swa'],
  configure(read) {
    const sizes = readDecoder(read);
    const experts = readExperts(read, { normalized: true, hidden: sizes.hidden(0), settings: [] });
    if (experts && experts.sharedHidden > 0) {
      read.refuse('expert_shared_feed_forward_length', `${experts.sharedHidden}`, '0');
    }
    const window = read.count('attention.sliding_window');
    const pattern = 'attention.sliding_window_pattern';
    const windowed = read.layerFlags(pattern) ?? read.refuse(pattern, 'nothing', 'a value for each layer');
    const rotary = read.layerFlags('attention.rope_pattern') ?? (() => true);
    const layerOf = (layer: number) =>
      preNormLayer(
        sizes.norm,
        attention(
          attentionSpec(sizes.heads(layer), {
            pairs: rotary(layer) ? 'interleaved' : undefined,
            hasSinks: 'always',
            scale: fileScale(read, sizes.heads(layer)),
            ...(windowed(layer) && { window }),
          }),
        ),
        expertsOrDense(experts, layer, { hidden: sizes.hidden(layer), activation: 'silu' }),
      );
    const factor = read.real('residual_scale', 1, true);
    return decoder(sizes, (layer) => scaledLayer(layerOf(layer), factor), {
      scale: read.real('embedding_scale', 1, true),
      logitScale: 1 / read.real('logit_scale'),
    });
  },
  synthetic: {
    metadata: ({ layers }) => ({
      embedding_scale: real(12),
      residual_scale: real(0.22),
      'attention.scale': real(0.2),
      logit_scale: real(0.5),
      'attention.sliding_window': count(SHORT_WINDOW),
      'attention.sliding_window_pattern': counts(layers, (layer) => layer % 2),
      'attention.rope_pattern': counts(layers, (layer) => layer % 2),
    }),
    optional: [OUTPUT],
  },
};

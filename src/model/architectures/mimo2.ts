import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { expertsWhereRouted, requireExperts } from '../blocks/experts.ts';
import {
  attentionSpec,
  decoder,
  preNormLayer,
  readDecoder,
  unscaledRope,
  WINDOW_ROPE,
} from '../stacks/decoder.ts';
import { count, counts, expertMetadata, OUTPUT, real, SHORT_WINDOW } from '../synthetic-family.ts';

/**
 * MiMo V2: sliding windows in five of six layers, with more KV heads and attention sinks there, narrower value heads,
 * RoPE on part of each head, and experts after a dense first layer (Xiaomi 2025).
 */
export const mimo2: Architecture = {
  names: ['mimo2'],
  configure(read) {
    const experts = requireExperts(read, { gate: 'sigmoid', normalized: true, settings: [] });
    const sizes = readDecoder(read, { hidden: experts.hidden });
    const { norm, fileRope } = sizes;
    const window = read.count('attention.sliding_window');
    const windowed = read.windowed(6);
    const factor = read.real('attention.value_scale', 1, true);
    const layerOf = (layer: number) => {
      const place = windowed(layer) && { window, table: WINDOW_ROPE };
      const traits = { pairs: 'neox', hasSinks: 'if there', ...place } as const;
      const { sublayers } = preNormLayer(
        norm,
        attention(attentionSpec(sizes.heads(layer), traits)),
        expertsWhereRouted(
          { ...experts, activation: 'silu' },
          { form: 'gated', hidden: sizes.hidden(layer), activation: 'silu' },
        ),
      );
      return { sublayers: sublayers.map((half, i) => (i === 0 ? { ...half, factor } : half)) };
    };
    const windowRope = unscaledRope({
      ...fileRope,
      base: read.real('rope.freq_base_swa', fileRope.base, true),
    });
    return decoder(sizes, layerOf, { windowRope, predictor: { reads: 'residual', layer: layerOf } });
  },
  synthetic: {
    metadata: (shape) => ({
      ...expertMetadata(shape),
      'attention.key_length': count((2 * shape.width) / shape.heads),
      'attention.value_length': count(shape.width / shape.heads),
      'attention.head_count_kv': counts(shape.layers, (layer) => (layer % 3 === 0 ? 1 : 2) * shape.kvHeads),
      'attention.sliding_window': count(SHORT_WINDOW),
      'attention.sliding_window_pattern': counts(shape.layers, (layer) => (layer % 3 === 0 ? 0 : 1)),
      'attention.value_scale': real(0.7),
      'rope.freq_base_swa': real(1000),
    }),
    optional: [
      OUTPUT,
      'exp_probs_b.bias',
      ...['blk.1', 'blk.2'].flatMap((layer) => [
        `${layer}.attn_sinks.weight`,
        `${layer}.ffn_gate_inp.weight`,
      ]),
    ],
  },
};

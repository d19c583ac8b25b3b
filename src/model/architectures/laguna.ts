import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { expertsOrDense, requireExperts } from '../blocks/experts.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder, WINDOW_ROPE } from '../stacks/decoder.ts';
import {
  count,
  counts,
  expertMetadata,
  flag,
  OUTPUT,
  real,
  SHORT_WINDOW,
  text,
  wideHeads,
} from '../synthetic-family.ts';

/** The first layer of each period has no window. */
const PERIOD = 4;

/**
 * Laguna: attention opened by the softplus of a gate, one value per head or per element; in the smaller models, windows with
 * more heads and a RoPE of their own except in every fourth layer; experts with a shared one after a few dense layers (Poolside
 * 2026).
 */
export const laguna: Architecture = {
  names: ['laguna'],
  configure(read) {
    const own = requireExperts(read, { gate: 'sigmoid' });
    const shared = read.count('expert_shared_count', 1);
    const experts = { ...own, sharedHidden: own.sharedHidden || shared * own.hidden };
    const sizes = readDecoder(read, { hidden: experts.hidden });
    const { norm, rope, fileRope } = sizes;
    const window = read.countOrZero('attention.sliding_window') || undefined;
    const windowed = read.windowed(PERIOD, 'first');
    const layerOf = (layer: number) => {
      const isLocal = window !== undefined && windowed(layer);
      const traits = {
        pairs: 'neox',
        queryNorm: { norm, of: 'head' },
        outputGate: 'attn_gate with softplus',
        ...(isLocal && { window, table: WINDOW_ROPE }),
      } as const;
      return preNormLayer(
        norm,
        attention(attentionSpec(sizes.heads(layer), traits)),
        expertsOrDense(experts, layer, { hidden: sizes.hidden(layer), activation: 'silu' }),
      );
    };
    if (window === undefined) return decoder(sizes, layerOf);
    const windowRope = {
      dimensions: read.count('rope.dimension_count_swa', rope.dimensions),
      base: read.real('rope.freq_base_swa', fileRope.base, true),
      scaling: { kind: 'none' },
    } as const;
    return decoder(sizes, layerOf, { windowRope });
  },
  synthetic: {
    metadata: (shape) => ({
      ...expertMetadata(shape),
      ...wideHeads(shape),
      leading_dense_block_count: count(1),
      expert_shared_feed_forward_length: count(24),
      expert_weights_norm: flag(true),
      expert_weights_scale: real(2.5),
      expert_gating_func: count(2),
      'attention.head_count': counts(shape.layers, (layer) => (layer % PERIOD === 0 ? 1 : 2) * shape.heads),
      'attention.sliding_window': count(SHORT_WINDOW),
      'rope.dimension_count': count(shape.width / shape.heads),
      'rope.dimension_count_swa': count((2 * shape.width) / shape.heads),
      'rope.freq_base_swa': real(1000),
      'rope.scaling.type': text('yarn'),
      'rope.scaling.factor': real(4),
      'rope.scaling.original_context_length': count(16),
    }),
    optional: [OUTPUT, 'exp_probs_b.bias'],
  },
};

import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { expertsOrDense, requireExperts } from '../blocks/experts.ts';
import {
  attentionSpec,
  decoder,
  ownWindowRope,
  readDecoder,
  ROPE,
  sandwichNormLayer,
  WINDOW_ROPE,
} from '../stacks/decoder.ts';
import { count, expertMetadata, flag, OUTPUT, real, SHORT_WINDOW, wideHeads } from '../synthetic-family.ts';

/** In every fourth layer, the last of each period, heads are not rotated, regardless of windows. */
const NO_ROPE_PERIOD = 4;

/**
 * Trinity: norms before and after each sublayer, Q/K norms, attention output gated by its input; sliding windows except
 * in every fourth layer, which has no RoPE; experts with a shared expert after a few dense layers (Arcee 2025).
 */
export const afmoe: Architecture = {
  names: ['afmoe'],
  configure(read) {
    const experts = requireExperts(read, { gate: 'sigmoid', shared: 'counted' });
    const sizes = readDecoder(read, { hidden: experts.hidden });
    const { norm, width } = sizes;
    const window = read.countOrZero('attention.sliding_window') || undefined;
    const windowed = read.windowed(NO_ROPE_PERIOD);
    const windowRope = window === undefined ? undefined : ownWindowRope(read, sizes);
    const layerOf = (layer: number) => {
      const isLocal = window !== undefined && windowed(layer);
      const traits = {
        pairs: (layer + 1) % NO_ROPE_PERIOD === 0 ? undefined : 'neox',
        queryNorm: { norm, of: 'head' },
        outputGate: 'attn_gate',
        ...(isLocal && { window, table: windowRope ? WINDOW_ROPE : ROPE }),
      } as const;
      return sandwichNormLayer(
        norm,
        attention(attentionSpec(sizes.heads(layer), traits)),
        expertsOrDense(experts, layer, { hidden: sizes.hidden(layer), activation: 'silu' }),
      );
    };
    return decoder(sizes, layerOf, { scale: Math.fround(Math.sqrt(width)), windowRope });
  },
  synthetic: {
    metadata: (shape) => ({
      ...expertMetadata(shape),
      ...wideHeads(shape),
      leading_dense_block_count: count(1),
      expert_shared_count: count(1),
      expert_weights_norm: flag(true),
      expert_weights_scale: real(1.5),
      'attention.sliding_window': count(SHORT_WINDOW),
      'rope.freq_base_swa': real(1000),
    }),
    optional: [OUTPUT, 'exp_probs_b.bias'],
  },
};

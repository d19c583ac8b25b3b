import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { mixtureOfExperts, requireExperts } from '../blocks/experts.ts';
import {
  attentionSpec,
  decoder,
  ownWindowRope,
  preNormLayer,
  readDecoder,
  WINDOW_ROPE,
} from '../stacks/decoder.ts';
import { count, expertMetadata, flag, OUTPUT } from '../synthetic-family.ts';

/** The window of all published models with one. */
const WINDOW = 4096;

/** Without windows every layer has RoPE, and in llama.cpp also in a model of four; with them, all but every fourth. */
const PERIOD = 4;

/**
 * SmallThinker: experts with ReLU that are chosen by what enters the layer, before attention, so that they can be fetched
 * meanwhile; windows in three of four layers, and no positions in the others (Song et al. 2025).
 */
export const smallthinker: Architecture = {
  names: ['smallthinker'],
  configure(read) {
    const experts = requireExperts(read, { normalized: true, settings: ['gate'] });
    const sizes = readDecoder(read, { hidden: experts.hidden });
    const window = read.countOrZero('attention.sliding_window') || undefined;
    if (window !== undefined && window !== WINDOW) {
      read.refuse('attention.sliding_window', `${window}`, `${WINDOW}, or 0 for none`);
    }
    const windowed = read.windowed(PERIOD, 'first');
    const windowRope = window === undefined ? undefined : ownWindowRope(read, sizes);
    const local = { window, ...(windowRope && { table: WINDOW_ROPE }) };
    const layerOf = (layer: number) => {
      const isRotary = window === undefined || sizes.layers === PERIOD || layer % PERIOD !== 0;
      const isLocal = window !== undefined && windowed(layer);
      return preNormLayer(
        sizes.norm,
        attention(
          attentionSpec(sizes.heads(layer), {
            pairs: isRotary ? 'neox' : undefined,
            ...(isLocal && local),
          }),
        ),
        mixtureOfExperts({ ...experts, activation: 'relu', routed: 'layer' }),
      );
    };
    return decoder(sizes, layerOf, { windowRope });
  },
  synthetic: {
    metadata: (shape) => ({
      ...expertMetadata(shape),
      'attention.sliding_window': count(WINDOW),
      expert_gating_func: count(2),
      expert_weights_norm: flag(true),
    }),
    optional: [OUTPUT],
  },
};

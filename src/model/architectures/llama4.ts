import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { mixtureOfExperts, requireExperts } from '../blocks/experts.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { count, expertMetadata, OUTPUT } from '../synthetic-family.ts';

/** Positions per attention chunk, and per step of the query temperature; files do not store it. */
const CHUNK = 8192;
const TEMPERATURE = { temperatureScale: 0.1, temperatureLength: CHUNK, temperatureOffset: 1 } as const;
/** In every fourth layer, the last of each period, heads are not rotated. */
const NO_ROPE_PERIOD = 4;
/** Maverick, which does not normalize its heads. */
const EXPERTS_OF_MAVERICK = 128;

/**
 * Llama 4: three of four layers apply RoPE, then normalize heads, and attend within chunks; the fourth has no RoPE, and
 * its queries have a temperature. Each row is routed to one expert, whose input is multiplied by the routing weight,
 * besides a shared one (Meta 2025).
 */
export const llama4: Architecture = {
  names: ['llama4'],
  configure(read) {
    const experts = requireExperts(read, { gate: 'sigmoid', settings: [] });
    if (experts.routing.topK !== 1) read.refuse('expert_used_count', `${experts.routing.topK}`, '1');
    const step = read.count('interleave_moe_layer_step');
    const sizes = readDecoder(read, { hidden: experts.hidden });
    const chunk = read.real('attention.sliding_window', CHUNK);
    if (chunk !== CHUNK) {
      read.refuse(
        'attention.sliding_window',
        `${chunk}`,
        `${CHUNK}, which llama4 always has in three layers of four`,
      );
    }
    const base = read.wanted.rope?.base ?? read.real('rope.freq_base_swa', sizes.rope.base, true);
    const queryNorm = { norm: sizes.norm, of: 'head', factors: 'none', place: 'after rotation' } as const;
    const chunked = read.windowed(NO_ROPE_PERIOD);
    const rotated = {
      pairs: 'interleaved',
      ...(experts.count !== EXPERTS_OF_MAVERICK && { queryNorm }),
    } as const;
    const layerOf = (layer: number) =>
      preNormLayer(
        sizes.norm,
        attention(
          attentionSpec(sizes.heads(layer), {
            ...((layer + 1) % NO_ROPE_PERIOD === 0 ? { pairs: undefined, ...TEMPERATURE } : rotated),
            ...(chunked(layer) && { chunk: CHUNK }),
          }),
        ),
        (layer + 1) % step === 0
          ? mixtureOfExperts({
              ...experts,
              sharedHidden: experts.hidden,
              activation: 'silu',
              weighted: 'input',
            })
          : feedForward({ form: 'gated', hidden: sizes.hidden(layer), activation: 'silu' }),
      );
    return decoder({ ...sizes, rope: { ...sizes.rope, base } }, layerOf);
  },
  synthetic: {
    metadata: (shape) => ({
      ...expertMetadata(shape),
      expert_used_count: count(1),
      interleave_moe_layer_step: count(2),
    }),
    optional: [OUTPUT],
  },
};

import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';

/** In every fourth layer, the last of each period, heads are not rotated, whatever the file says. */
const NO_ROPE_PERIOD = 4;

/** SmolLM 3: Llama without RoPE in every fourth layer ("NoPE", Yang et al. 2025; Bakouch et al. 2025). */
export const smollm3: Architecture = {
  names: ['smollm3'],
  configure(read) {
    const sizes = readDecoder(read);
    return decoder(sizes, (layer) => {
      const pairs = (layer + 1) % NO_ROPE_PERIOD === 0 ? undefined : 'interleaved';
      return preNormLayer(
        sizes.norm,
        attention(attentionSpec(sizes.heads(layer), { pairs })),
        feedForward({ form: 'gated', hidden: sizes.hidden(layer), activation: 'silu' }),
      );
    });
  },
  synthetic: {},
};

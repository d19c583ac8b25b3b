import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';

/** Of so many layers the last one's heads are not rotated, whatever the file says. */
const NO_ROPE_PERIOD = 4;

/** SmolLM 3: Llama with every fourth layer's heads left as they are ("NoPE", Yang et al. 2025; Bakouch et al. 2025). */
export const smollm3: Architecture = {
  names: ['smollm3'],
  configure(read) {
    const sizes = readDecoder(read);
    return decoder(sizes, (layer) => {
      const pairs = (layer + 1) % NO_ROPE_PERIOD === 0 ? undefined : 'interleaved';
      return preNormLayer(
        sizes.norm,
        attention(attentionSpec(read, sizes.heads(layer), { pairs })),
        feedForward({ form: 'gated', hidden: sizes.hidden(layer), activation: 'silu' }),
      );
    });
  },
  synthetic: {},
};

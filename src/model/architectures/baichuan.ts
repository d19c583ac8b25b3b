import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { OUTPUT } from '../synthetic-family.ts';

/** How the two published sizes, which files tell apart by their number of layers alone, know positions. */
const LAYERS_OF_7B = 32;
const LAYERS_OF_13B = 40;

/** ALiBi's exponent of the 13B model. */
const ALIBI_BIAS = 8;

/** Baichuan 1 and 2: Llama, with ALiBi instead of RoPE in the 13B models (Yang et al. 2023). */
export const baichuan: Architecture = {
  names: ['baichuan'],
  configure(read) {
    const sizes = readDecoder(read);
    const { layers } = sizes;
    if (layers !== LAYERS_OF_7B && layers !== LAYERS_OF_13B) {
      read.refuse('block_count', `${layers}`, `${LAYERS_OF_7B} (with RoPE) or ${LAYERS_OF_13B} (with ALiBi)`);
    }
    const isRotary = layers === LAYERS_OF_7B;
    const positions = isRotary
      ? ({ pairs: 'interleaved' } as const)
      : { pairs: undefined, alibiBias: ALIBI_BIAS };
    const layerOf = (layer: number) =>
      preNormLayer(
        sizes.norm,
        attention(attentionSpec(sizes.heads(layer), positions)),
        feedForward({ form: 'gated', hidden: sizes.hidden(layer), activation: 'silu' }),
      );
    return decoder(sizes, layerOf, { isRotary });
  },
  synthetic: { optional: [OUTPUT] },
};

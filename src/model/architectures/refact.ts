import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { OUTPUT } from '../synthetic-family.ts';

/** ALiBi's exponent, which files do not store. */
const ALIBI_BIAS = 8;

/** Refact: Llama with ALiBi instead of RoPE (Small Magellanic Cloud AI 2023). */
export const refact: Architecture = {
  names: ['refact'],
  configure(read) {
    const sizes = readDecoder(read);
    const layerOf = (layer: number) =>
      preNormLayer(
        sizes.norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: undefined, alibiBias: ALIBI_BIAS })),
        feedForward({ form: 'gated', hidden: sizes.hidden(layer), activation: 'silu' }),
      );
    return decoder(sizes, layerOf, { isRotary: false });
  },
  synthetic: { optional: [OUTPUT] },
};

import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { OUTPUT } from '../synthetic-family.ts';

/** Maincoder: Llama with Q/K norms after RoPE (Maincode 2025). */
export const maincoder: Architecture = {
  names: ['maincoder'],
  configure(read) {
    const sizes = readDecoder(read);
    const queryNorm = { norm: sizes.norm, of: 'head', place: 'after rotation' } as const;
    return decoder(sizes, (layer) =>
      preNormLayer(
        sizes.norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: 'interleaved', queryNorm })),
        feedForward({ form: 'gated', hidden: sizes.hidden(layer), activation: 'silu' }),
      ),
    );
  },
  synthetic: { optional: [OUTPUT] },
};

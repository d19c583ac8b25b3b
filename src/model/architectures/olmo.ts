import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { OUTPUT, real } from '../synthetic-family.ts';

/** OLMo 1: layer norms without weights, and bounded queries, keys and values in some files (Groeneveld et al. 2024). */
export const olmo: Architecture = {
  names: ['olmo'],
  configure(read) {
    const own = readDecoder(read, { norm: 'layer' });
    const { epsilon } = own.norm;
    const sizes = { ...own, norm: { kind: 'layer', epsilon, bias: 'if there', factors: 'none' } } as const;
    const clamp = read.real('attention.clamp_kqv', 0);
    return decoder(sizes, (layer) =>
      preNormLayer(
        sizes.norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: 'interleaved', clamp })),
        feedForward({ form: 'gated', hidden: sizes.hidden(layer), activation: 'silu' }),
      ),
    );
  },
  synthetic: { metadata: () => ({ 'attention.clamp_kqv': real(0.5) }), optional: [OUTPUT] },
};

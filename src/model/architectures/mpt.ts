import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { real } from '../synthetic-family.ts';

/**
 * MPT: GPT-2 with ALiBi instead of positions and, as a rule, without biases; some files normalize whole rows of queries
 * and keys. Files with learned positions are refused (MosaicML 2023).
 */
export const mpt: Architecture = {
  names: ['mpt'],
  configure(read) {
    const sizes = readDecoder(read, { norm: 'layer' });
    const { norm } = sizes;
    const alibiBias = read.real('attention.max_alibi_bias', 0);
    if (alibiBias <= 0) read.refuse('attention.max_alibi_bias', `${alibiBias}`, 'above 0');
    const clamp = read.real('attention.clamp_kqv', 0);
    const queryNorm = { norm, of: 'row', missing: 'allowed' } as const;
    const layerOf = (layer: number) =>
      preNormLayer(
        norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: undefined, alibiBias, queryNorm, clamp })),
        feedForward({ form: 'plain', hidden: sizes.hidden(layer), activation: 'gelu_tanh' }),
      );
    return decoder(sizes, layerOf, { isRotary: false });
  },
  synthetic: {
    metadata: () => ({ 'attention.max_alibi_bias': real(8) }),
    optional: ['attn_qkv.weight'],
  },
};

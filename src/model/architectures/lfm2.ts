import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { expertsOrDense, readExperts } from '../blocks/experts.ts';
import { shortConv } from '../blocks/short-conv.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { count, expertMetadata, keyHeadsInLast, OUTPUT } from '../synthetic-family.ts';

/** Kernel size of a synthetic model's convolutions, as in published models. */
const SYNTHETIC_TAPS = 3;

/**
 * LFM 2, dense or with experts after the leading layers (Liquid AI 2025): layers without KV heads have a short convolution in place
 * of attention. Files call the output norm `token_embd_norm`.
 */
export const lfm2: Architecture = {
  names: ['lfm2', 'lfm2moe'],
  configure(read) {
    const sizes = readDecoder(read, { hybrid: true });
    const { norm } = sizes;
    const convolution = shortConv({ taps: read.count('shortconv.l_cache') });
    const experts = readExperts(read, { normalized: true, settings: ['gate'] });
    // llama.cpp has windows in the dense models alone.
    const window = read.architecture === 'lfm2' ? read.countOrZero('attention.sliding_window') : 0;
    const traits = { pairs: 'neox', queryNorm: { norm, of: 'head' }, ...(window > 0 && { window }) } as const;
    return decoder(
      sizes,
      (layer) => {
        const heads = sizes.heads(layer);
        return preNormLayer(
          norm,
          heads.kvHeads === 0 ? convolution : attention(attentionSpec(heads, traits)),
          expertsOrDense(experts, layer, { hidden: sizes.hidden(layer), activation: 'silu' }),
        );
      },
      { outputNorm: 'token_embd_norm' },
    );
  },
  synthetic: {
    metadata: (shape) => ({
      ...keyHeadsInLast(shape),
      'shortconv.l_cache': count(SYNTHETIC_TAPS),
      ...(shape.experts && {
        ...expertMetadata(shape),
        expert_gating_func: count(2),
        leading_dense_block_count: count(1),
      }),
    }),
    optional: [OUTPUT, 'exp_probs_b.bias'],
  },
};

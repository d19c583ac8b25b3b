import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import type { Block } from '../blocks/block.ts';
import { mixtureOfExperts, readExperts } from '../blocks/experts.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { mamba, readMamba } from '../blocks/mamba.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { keyHeadsInLast, OUTPUT, wideExperts } from '../synthetic-family.ts';
import { mambaMetadata } from './mamba.ts';

/**
 * Jamba (Lieber et al. 2024): Mamba-1 with norms of `dt`, `b` and `c`, attention without RoPE in the layers that have KV heads, and
 * experts in the layers for which the file has a router.
 */
export const jamba: Architecture = {
  names: ['jamba'],
  configure(read) {
    const sizes = readDecoder(read, { hybrid: true });
    const { norm } = sizes;
    const recurrence = mamba({
      ...readMamba(read),
      ...(norm.kind === 'rms' && { inputNorm: { norm, weights: true } }),
    });
    const experts = readExperts(read, { hidden: sizes.hidden(0), settings: [] });
    const feedForwardOf = (layer: number): Block => {
      const dense = feedForward({ form: 'gated', hidden: sizes.hidden(layer), activation: 'silu' });
      return experts ? routedIfThere(mixtureOfExperts({ ...experts, activation: 'silu' }), dense) : dense;
    };
    return decoder(
      sizes,
      (layer) => {
        const heads = sizes.heads(layer);
        const mixer =
          heads.kvHeads === 0 ? recurrence : attention(attentionSpec(heads, { pairs: undefined }));
        return preNormLayer(norm, mixer, feedForwardOf(layer));
      },
      { isRotary: false },
    );
  },
  synthetic: {
    metadata: (shape) => ({
      ...keyHeadsInLast(shape),
      ...mambaMetadata(shape),
      ...(shape.experts && wideExperts(shape)),
    }),
    optional: [OUTPUT, 'ffn_gate_inp.weight'],
  },
};

/** Only a file's tensors tell which layers have experts. */
function routedIfThere(experts: Block, dense: Block): Block {
  return {
    kind: 'experts or feed-forward',
    spec: { experts: experts.spec, dense: dense.spec },
    record: (scope, x, layer) => (scope.has('ffn_gate_inp.weight') ? experts : dense).record(scope, x, layer),
  };
}

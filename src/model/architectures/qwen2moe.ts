import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { expertsOrDense, readExperts } from '../blocks/experts.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { count, expertMetadata, OUTPUT, QKV_BIASES } from '../synthetic-family.ts';

/** Qwen 1.5 and 2 with experts: Qwen 2 with experts in every layer, and a gated shared expert. */
export const qwen2moe: Architecture = {
  names: ['qwen2moe'],
  configure(read) {
    const experts = readExperts(read, { settings: [] });
    const sizes = readDecoder(read, { hidden: experts?.hidden });
    // If the file has no width for the shared expert, it is the feed-forward's.
    const expertsOf = (layer: number) =>
      experts && { ...experts, sharedHidden: experts.sharedHidden || sizes.hidden(layer) };
    return decoder(sizes, (layer) =>
      preNormLayer(
        sizes.norm,
        attention(attentionSpec(sizes.heads(layer), { pairs: 'neox' })),
        expertsOrDense(expertsOf(layer), layer, { hidden: sizes.hidden(layer), activation: 'silu' }),
      ),
    );
  },
  synthetic: {
    metadata: (shape) => ({
      ...expertMetadata(shape),
      expert_shared_feed_forward_length: count(shape.hidden),
    }),
    optional: [OUTPUT, ...QKV_BIASES, 'ffn_gate_inp_shexp.weight'],
  },
};

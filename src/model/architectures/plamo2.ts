import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { mambaHeads, readMambaHeads } from '../blocks/mamba-heads.ts';
import { attentionSpec, decoder, readDecoder, sandwichNormLayer, withBareNorms } from '../stacks/decoder.ts';
import { count, isSmall, keyHeadsInLast, OUTPUT } from '../synthetic-family.ts';

/**
 * PLaMo 2: norms before and after each sublayer, Mamba with heads, and attention with a norm of its own for each head of queries and
 * keys in the layers that have KV heads (Preferred Networks 2025).
 */
export const plamo2: Architecture = {
  names: ['plamo2'],
  configure(read) {
    const sizes = readDecoder(read, { hybrid: true });
    const { norm } = sizes;
    const recurrence = mambaHeads({ ...readMambaHeads(read), norm });
    const traits = { pairs: 'neox', queryNorm: { norm, of: 'each head' } } as const;
    return decoder(sizes, (layer) => {
      const heads = sizes.heads(layer);
      const scale = 1 / Math.sqrt(heads.valueSize);
      const mixer = heads.kvHeads === 0 ? recurrence : attention(attentionSpec(heads, { ...traits, scale }));
      const form = { form: 'fused', hidden: sizes.hidden(layer), activation: 'silu' } as const;
      return withBareNorms(sandwichNormLayer(norm, mixer, feedForward(form)));
    });
  },
  synthetic: {
    metadata: (shape) => ({
      ...keyHeadsInLast(shape),
      'attention.key_length': count(isSmall(shape) ? 16 : 128),
      'attention.value_length': count(isSmall(shape) ? 16 : 128),
      'rope.dimension_count': count(isSmall(shape) ? 16 : 128),
      'ssm.inner_size': count(2 * shape.width),
      'ssm.state_size': count(isSmall(shape) ? 16 : 64),
      'ssm.time_step_rank': count(isSmall(shape) ? 4 : 64),
      'ssm.conv_kernel': count(4),
      'ssm.group_count': count(0),
    }),
    optional: [OUTPUT, 'attn_qkv.weight'],
  },
};

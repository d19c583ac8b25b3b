import type { Architecture } from '../architecture.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { encoder } from '../stacks/encoder.ts';
import { count, flag, QKV_BIASES, tokenTypes } from '../synthetic-family.ts';

/** BERT (Devlin et al. 2018). */
export const bert: Architecture = {
  names: ['bert'],
  configure(read) {
    const hidden = read.count('feed_forward_length');
    const plain = feedForward({ form: 'plain', hidden, activation: 'gelu_tanh' });
    return encoder(read, { positions: 'learned', feedForward: () => plain });
  },
  synthetic: {
    metadata: () => ({ 'attention.causal': flag(false), pooling_type: count(1) }),
    tokenizer: tokenTypes,
    optional: ['token_types.weight', ...QKV_BIASES, 'attn_output.bias', 'ffn_up.bias', 'ffn_down.bias'],
  },
};

import type { Architecture } from '../architecture.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { encoder } from '../stacks/encoder.ts';
import { count, flag, QKV_BIASES, tokenTypes } from '../synthetic-family.ts';

/** Jina embeddings 3: BERT with RoPE (Sturua et al. 2024). Task-specific weights are adapters, in separate files. */
export const jinaBertV3: Architecture = {
  names: ['jina-bert-v3'],
  configure(read) {
    const hidden = read.count('feed_forward_length');
    const plain = feedForward({ form: 'plain', hidden, activation: 'gelu_tanh' });
    return encoder(read, { positions: 'rotary', feedForward: () => plain });
  },
  synthetic: {
    metadata: () => ({ 'attention.causal': flag(false), pooling_type: count(1) }),
    tokenizer: tokenTypes,
    optional: ['token_types.weight', ...QKV_BIASES, 'attn_output.bias', 'ffn_up.bias', 'ffn_down.bias'],
  },
};

import type { Architecture } from '../architecture.ts';
import type { Block } from '../blocks/block.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { encoder } from '../stacks/encoder.ts';
import { count, flag, QKV_BIASES, tokenTypes } from '../synthetic-family.ts';

/**
 * Jina embeddings 2: BERT with ALiBi, measured in both directions, and gated feed-forwards; the models for code also normalize
 * queries and keys (Günther et al. 2023). Files with the second norm of some models for code, `attn_norm_2`, are refused.
 */
export const jinaBertV2: Architecture = {
  names: ['jina-bert-v2'],
  configure(read) {
    const block = gatedApartOrFused(read.count('feed_forward_length'));
    return encoder(read, { positions: 'ALiBi', feedForward: () => block, queryNorms: true });
  },
  synthetic: {
    metadata: () => ({ 'attention.causal': flag(false), pooling_type: count(1) }),
    tokenizer: tokenTypes,
    optional: ['token_types.weight', ...QKV_BIASES, 'attn_output.bias', 'ffn_down.bias'],
  },
};

/** Files have a matrix for the gate, or one for both in `ffn_up`. */
function gatedApartOrFused(hidden: number): Block {
  const apart = feedForward({ form: 'gated', hidden, activation: 'gelu_tanh' });
  const fused = feedForward({ form: 'fused', hidden, activation: 'gelu_tanh' });
  return {
    kind: apart.kind,
    spec: apart.spec,
    record: (scope, x, layer) => (scope.has('ffn_gate.weight') ? apart : fused).record(scope, x, layer),
  };
}

import type { Architecture } from '../architecture.ts';
import { mixtureOfExperts, readExperts } from '../blocks/experts.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { encoder } from '../stacks/encoder.ts';
import { count, flag, QKV_BIASES, tokenTypes, wideExperts } from '../synthetic-family.ts';

/**
 * Nomic embeddings 2: every other layer, starting with the second, has ungated experts (Nussbaum & Duderstadt 2025).
 */
export const nomicBertMoe: Architecture = {
  names: ['nomic-bert-moe'],
  configure(read) {
    const hidden = read.count('feed_forward_length');
    const period = read.countOrZero('moe_every_n_layers');
    const experts = period > 0 ? readExperts(read, { hidden, settings: [] }) : undefined;
    const plain = feedForward({ form: 'plain', hidden, activation: 'gelu_tanh' });
    const mixture =
      experts && mixtureOfExperts({ ...experts, sharedHidden: 0, form: 'plain', activation: 'gelu_tanh' });
    return encoder(read, {
      positions: 'rotary',
      feedForward: (layer) => (mixture && layer % period === 1 ? mixture : plain),
    });
  },
  synthetic: {
    metadata: (shape) => ({
      ...wideExperts(shape),
      moe_every_n_layers: count(2),
      'attention.causal': flag(false),
      pooling_type: count(1),
    }),
    tokenizer: tokenTypes,
    optional: ['token_types.weight', ...QKV_BIASES, 'attn_output.bias', 'ffn_up.bias', 'ffn_down.bias'],
  },
};

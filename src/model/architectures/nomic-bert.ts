import type { Architecture } from '../architecture.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { encoder } from '../stacks/encoder.ts';
import { count, flag, tokenTypes } from '../synthetic-family.ts';

/** Nomic's BERT, with RoPE and a gated feed-forward (Nussbaum et al. 2024). */
export const nomicBert: Architecture = {
  names: ['nomic-bert'],
  configure(read) {
    const hidden = read.count('feed_forward_length');
    const gated = feedForward({ form: 'gated', hidden, activation: 'silu' });
    return encoder(read, { positions: 'rotary', feedForward: () => gated });
  },
  synthetic: {
    metadata: () => ({ 'attention.causal': flag(false), pooling_type: count(2) }),
    tokenizer: tokenTypes,
    optional: ['token_types.weight', 'attn_qkv.weight'],
  },
};

import type { Architecture } from '../architecture.ts';
import { encoder } from '../stacks/encoder.ts';
import { count, flag, tokenTypes } from '../synthetic-family.ts';

/** Nomic's BERT, which rotates queries and keys and gates its feed-forward (Nussbaum et al. 2024). */
export const nomicBert: Architecture = {
  names: ['nomic-bert'],
  configure: (read) => encoder(read, { rotary: true }),
  synthetic: {
    metadata: () => ({ 'attention.causal': flag(false), pooling_type: count(2) }),
    tokenizer: tokenTypes,
    optional: ['token_types.weight', 'attn_qkv.weight'],
  },
};

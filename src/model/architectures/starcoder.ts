import type { Architecture } from '../architecture.ts';
import { gpt2 } from './gpt2.ts';

/** StarCoder: GPT-2 with one head of keys and values (Li et al. 2023). */
export const starcoder: Architecture = {
  names: ['starcoder'],
  configure: (read) => gpt2.configure(read),
  synthetic: gpt2.synthetic,
};

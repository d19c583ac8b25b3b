import type { Architecture } from '../architecture.ts';
import { internlm2 } from './internlm2.ts';

/** XVERSE: Llama (XVERSE 2023). */
export const xverse: Architecture = {
  names: ['xverse'],
  configure: (read) => internlm2.configure(read),
  synthetic: internlm2.synthetic,
};

import type { Architecture } from '../architecture.ts';
import { decoder } from '../decoder/decoder.ts';
import { type DecoderConfig, readDecoder } from '../decoder/decoder-config.ts';

/** Qwen 2 and 2.5: Llama with biases of query, key and value, and halves of heads turned (Yang et al. 2024). */
export const qwen2: Architecture<DecoderConfig> = {
  names: ['qwen2'],
  configure: (read) => readDecoder(read, { ropePairs: 'halves' }),
  ...decoder,
};

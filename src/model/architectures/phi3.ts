import type { Architecture } from '../architecture.ts';
import { decoder } from '../decoder/decoder.ts';
import { type DecoderConfig, readDecoder } from '../decoder/decoder-config.ts';

/**
 * Phi 3, 3.5 and 4: gate and up are one matrix, as query, key and value are, and long contexts have turning factors of
 * their own (Abdin et al. 2024). The files' sliding windows are not used, as llama.cpp does not use them.
 */
export const phi3: Architecture<DecoderConfig> = {
  names: ['phi3'],
  configure: (read) => readDecoder(read, { ropePairs: 'halves', feedForward: 'fused' }),
  ...decoder,
};

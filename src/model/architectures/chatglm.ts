import type { Architecture } from '../architecture.ts';
import { decoder } from '../decoder/decoder.ts';
import { type DecoderConfig, readDecoder } from '../decoder/decoder-config.ts';

/**
 * ChatGLM 3 and GLM-4-9B: few key heads, a bias of the one matrix for query, key and value, half of each head turned by
 * neighbours, gate and up in one matrix (GLM team 2024).
 */
export const chatglm: Architecture<DecoderConfig> = {
  names: ['chatglm'],
  configure: (read) => readDecoder(read, { feedForward: 'fused' }),
  ...decoder,
};

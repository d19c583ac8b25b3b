import type { Architecture } from '../architecture.ts';
import { decoder } from '../decoder/decoder.ts';
import { type DecoderConfig, readDecoder } from '../decoder/decoder-config.ts';

/** StarCoder 2: layer norms, a feed-forward without gate, and biases everywhere (Lozhkov et al. 2024). */
export const starcoder2: Architecture<DecoderConfig> = {
  names: ['starcoder2'],
  configure: (read) =>
    readDecoder(read, {
      norm: 'layer',
      ropePairs: 'halves',
      feedForward: 'plain',
      activation: 'gelu_tanh',
    }),
  ...decoder,
};

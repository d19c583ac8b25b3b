import type { Architecture } from '../architecture.ts';
import { decoder } from '../decoder/decoder.ts';
import { type DecoderConfig, readDecoder } from '../decoder/decoder-config.ts';

/** GPT-2: learned positions, layer norms, a feed-forward without gate, and biases everywhere (Radford et al. 2019). */
export const gpt2: Architecture<DecoderConfig> = {
  names: ['gpt2'],
  configure: (read) =>
    readDecoder(read, {
      norm: 'layer',
      positions: 'learned',
      feedForward: 'plain',
      activation: 'gelu_tanh',
    }),
  ...decoder,
};

import type { Architecture } from '../architecture.ts';
import { decoder } from '../decoder/decoder.ts';
import { type DecoderConfig, readDecoder } from '../decoder/decoder-config.ts';

/** Qwen 3: heads of queries and keys are normalized before they are turned (Yang et al. 2025). */
export const qwen3: Architecture<DecoderConfig> = {
  names: ['qwen3'],
  configure: (read) =>
    readDecoder(read, {
      ropePairs: 'halves',
      queryNorm: 'head',
      feedForwardScales: true,
    }),
  ...decoder,
};

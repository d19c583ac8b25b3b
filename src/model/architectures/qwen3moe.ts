import type { Architecture } from '../architecture.ts';
import { decoder } from '../decoder/decoder.ts';
import { type DecoderConfig, readDecoder } from '../decoder/decoder-config.ts';
import { readExperts } from '../decoder/decoder-experts.ts';

/** Qwen 3 with experts: Qwen 3 with a mixture in every layer, shares divided by their sum (Yang et al. 2025). */
export const qwen3moe: Architecture<DecoderConfig> = {
  names: ['qwen3moe'],
  configure(read) {
    const experts = readExperts(read, { normalized: true });
    return readDecoder(read, { ropePairs: 'halves', queryNorm: 'head', expertScales: true, experts });
  },
  ...decoder,
};

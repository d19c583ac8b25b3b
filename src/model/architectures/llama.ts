import type { Architecture } from '../architecture.ts';
import { decoder } from '../decoder/decoder.ts';
import { type DecoderConfig, readDecoder } from '../decoder/decoder-config.ts';
import { readExperts } from '../decoder/decoder-experts.ts';

/**
 * Llama 1 to 3, Mistral, Mixtral and what shares their graph: RMS norm before each half, rotated grouped-query attention over
 * a KV cache, a SiLU-gated feed-forward or a mixture of such (Touvron et al. 2023; Jiang et al. 2023, 2024).
 */
export const llama: Architecture<DecoderConfig> = {
  names: ['llama', 'mistral'],
  configure(read) {
    const window = read.countOrZero('attention.sliding_window') || undefined;
    const experts = readExperts(read, { normalized: true, hidden: read.count('feed_forward_length') });
    return readDecoder(read, { feedForwardScales: true, expertScales: true, window, experts });
  },
  ...decoder,
};

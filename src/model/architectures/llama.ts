import { fail } from '../../base/errors.ts';
import type { Architecture } from '../architecture.ts';
import { decoder } from '../decoder/decoder.ts';
import { type DecoderConfig, readDecoder } from '../decoder/decoder-config.ts';
import { ConfigReader } from '../model-config.ts';

/**
 * Llama 1 to 3, Mistral and what shares their graph: RMS norm before each half, rotated grouped-query attention over a KV
 * cache, a SiLU-gated feed-forward (Touvron et al. 2023; Jiang et al. 2023).
 */
export const llama: Architecture<DecoderConfig> = {
  names: ['llama', 'mistral'],
  configure(metadata, architecture) {
    const key = `${architecture}.expert_count`;
    const experts = metadata.number(key) ?? 0;
    if (experts > 0) fail('MODEL_CONFIG', { key, found: String(experts), expected: '0: no experts' });
    const window = metadata.number(`${architecture}.attention.sliding_window`) || undefined;
    return readDecoder(new ConfigReader(metadata, architecture), { feedForwardScales: true, window });
  },
  ...decoder,
};

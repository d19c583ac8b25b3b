import type { Architecture } from '../architecture.ts';
import { decoder } from '../decoder/decoder.ts';
import { type DecoderConfig, readDecoder } from '../decoder/decoder-config.ts';

/**
 * OLMo 2: norms behind each half of a layer instead of before, and of all queries and keys of a row (OLMo team 2025). The
 * files of OLMo 3 have the same name: three layers of four look at a window, in which turns are not scaled.
 */
export const olmo2: Architecture<DecoderConfig> = {
  names: ['olmo2'],
  configure(read) {
    const config = readDecoder(read, {
      ropePairs: 'halves',
      queryNorm: 'row',
      normsBefore: false,
      normsAfter: true,
      window: read.countOrZero('attention.sliding_window') || undefined,
      windowPattern: read.windowPattern(4),
    });
    if (config.window === undefined) return config;
    const base = read.real('rope.freq_base_swa', config.rope.base);
    return { ...config, windowRope: { ...config.rope, base, scaling: { kind: 'none' } } };
  },
  ...decoder,
};

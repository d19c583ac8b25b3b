import type { Architecture } from '../architecture.ts';
import { decoder } from '../decoder/decoder.ts';
import { type DecoderConfig, readDecoder } from '../decoder/decoder-config.ts';
import { ConfigReader } from '../model-config.ts';

/**
 * OLMo 2: norms behind each half of a layer instead of before, and of all queries and keys of a row (OLMo team 2025). The
 * files of OLMo 3 have the same name: three layers of four look at a window, in which turns are not scaled.
 */
export const olmo2: Architecture<DecoderConfig> = {
  names: ['olmo2'],
  configure(metadata, architecture) {
    const read = new ConfigReader(metadata, architecture);
    const config = readDecoder(read, {
      ropePairs: 'halves',
      queryNorm: 'row',
      normsBefore: false,
      normsAfter: true,
      window: read.countOrZero('attention.sliding_window') || undefined,
      windowPattern: read.windowPattern(4),
    });
    if (config.window === undefined) return config;
    return { ...config, windowRope: { ...config.rope, scaling: { kind: 'none' } } };
  },
  ...decoder,
};

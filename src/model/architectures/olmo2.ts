import type { Architecture } from '../architecture.ts';
import { decoder } from '../decoder/decoder.ts';
import { type DecoderConfig, readDecoder } from '../decoder/decoder-config.ts';
import { ConfigReader } from '../model-config.ts';

/** OLMo 2: norms behind each half of a layer instead of before, and of all queries and keys of a row (OLMo team 2025). */
export const olmo2: Architecture<DecoderConfig> = {
  names: ['olmo2'],
  configure: (metadata, architecture) =>
    readDecoder(new ConfigReader(metadata, architecture), {
      ropePairs: 'halves',
      queryNorm: 'row',
      normsBefore: false,
      normsAfter: true,
    }),
  ...decoder,
};

import type { Architecture } from '../architecture.ts';
import { decoder } from '../decoder/decoder.ts';
import { type DecoderConfig, readDecoder } from '../decoder/decoder-config.ts';
import { readExperts } from '../decoder/decoder-experts.ts';

/** Qwen 1.5 and 2 with experts: Qwen 2 with a mixture in every layer, and an expert of which each row has a share. */
export const qwen2moe: Architecture<DecoderConfig> = {
  names: ['qwen2moe'],
  configure(read) {
    const experts = readExperts(read);
    // A file that says nothing of the shared expert's width has the feed-forward's.
    const shared = experts && {
      ...experts,
      sharedHidden: experts.sharedHidden || read.count('feed_forward_length'),
    };
    return readDecoder(read, { ropePairs: 'halves', experts: shared });
  },
  ...decoder,
};

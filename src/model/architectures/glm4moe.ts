import type { Architecture } from '../architecture.ts';
import { decoder } from '../decoder/decoder.ts';
import { type DecoderConfig, readDecoder } from '../decoder/decoder-config.ts';
import { readExperts } from '../decoder/decoder-experts.ts';

/**
 * GLM 4.5: a few layers with a feed-forward, then mixtures whose choice is biased, with an expert of all rows; halves of a part
 * of each head turned (GLM team 2025).
 */
export const glm4moe: Architecture<DecoderConfig> = {
  names: ['glm4moe'],
  configure(read) {
    const experts = readExperts(read, { gate: 'sigmoid' });
    if (!experts) return read.refuse('expert_count', 'nothing', 'a positive whole number');
    const shared = read.countOrZero('expert_shared_count') * experts.hidden;
    return readDecoder(read, {
      ropePairs: 'halves',
      queryNorm: 'head, if there',
      feedForwardNorm: 'post_attention_norm',
      experts: { ...experts, sharedHidden: shared },
    });
  },
  ...decoder,
};

import type { Architecture } from '../architecture.ts';
import { decoder } from '../decoder/decoder.ts';
import { type DecoderConfig, readDecoder } from '../decoder/decoder-config.ts';

/**
 * GLM-4-0414: ChatGLM with a second norm behind each half of a layer. The text half of GLM-4.1V is stored with halves of heads
 * to turn: there positions have several coordinates, which are the same in texts.
 */
export const glm4: Architecture<DecoderConfig> = {
  names: ['glm4'],
  configure(read) {
    const ropePairs = read.hasCoordinates() ? 'halves' : 'interleaved';
    return readDecoder(read, { feedForward: 'fused', normsAfter: true, ropePairs });
  },
  ...decoder,
};

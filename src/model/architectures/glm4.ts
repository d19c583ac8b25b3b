import type { Architecture } from '../architecture.ts';
import { decoder } from '../decoder/decoder.ts';
import { type DecoderConfig, readDecoder } from '../decoder/decoder-config.ts';
import { ConfigReader } from '../model-config.ts';

/** GLM-4-0414: ChatGLM with a second norm behind each half of a layer. */
export const glm4: Architecture<DecoderConfig> = {
  names: ['glm4'],
  configure: (metadata, architecture) =>
    readDecoder(new ConfigReader(metadata, architecture), { feedForward: 'fused', normsAfter: true }),
  ...decoder,
};

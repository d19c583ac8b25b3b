import type { Architecture } from '../architecture.ts';
import { decoder } from '../decoder/decoder.ts';
import { type DecoderConfig, type DecoderTraits, readDecoder } from '../decoder/decoder-config.ts';

/** The 27B model alone scales its scores by the width that a head would have without `attention.key_length`. */
const LAYERS_OF_27B = 62;

/**
 * Gemma 3: normalized heads in place of Gemma 2's soft caps; five layers of six look at a sliding window, in which
 * positions turn faster (Gemma team 2025).
 */
export const gemma3: Architecture<DecoderConfig> = {
  names: ['gemma3'],
  configure(read) {
    const [width, heads] = [read.count('embedding_length'), read.count('attention.head_count')];
    const dimensions = read.count('rope.dimension_count', read.count('attention.key_length', width / heads));
    const traits: Partial<DecoderTraits> = {
      ropePairs: 'halves',
      queryNorm: 'head',
      normsAfter: true,
      activation: 'gelu_tanh',
      embeddingScale: Math.fround(Math.sqrt(width)),
      attentionScale: read.count('block_count') === LAYERS_OF_27B ? 1 / Math.sqrt(width / heads) : undefined,
      logitSoftCap: read.real('final_logit_softcapping', 0) || undefined,
      window: read.real('attention.sliding_window', 0) || undefined,
      windowPattern: read.windowPattern(6),
      windowRope: { dimensions, base: read.real('rope.freq_base_swa', 10_000), scaling: { kind: 'none' } },
    };
    return readDecoder(read, traits);
  },
  ...decoder,
};

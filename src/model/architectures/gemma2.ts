import type { Architecture } from '../architecture.ts';
import { decoder } from '../decoder/decoder.ts';
import { type DecoderConfig, type DecoderTraits, readDecoder } from '../decoder/decoder-config.ts';

/** The 27B model alone scales its scores by the width that a head would have without `attention.key_length`. */
const LAYERS_OF_27B = 46;

/**
 * Gemma 2: embeddings scaled by the root of their width, norms before and behind each half, soft caps of scores and
 * logits, and every other layer a sliding window (Gemma team 2024).
 */
export const gemma2: Architecture<DecoderConfig> = {
  names: ['gemma2'],
  configure(read) {
    const width = read.count('embedding_length');
    const traits: Partial<DecoderTraits> = {
      ropePairs: 'halves',
      normsAfter: true,
      activation: 'gelu_tanh',
      embeddingScale: Math.fround(Math.sqrt(width)),
      attentionScale:
        read.count('block_count') === LAYERS_OF_27B
          ? 1 / Math.sqrt(width / read.count('attention.head_count'))
          : undefined,
      attentionSoftCap: read.real('attn_logit_softcapping', 50),
      logitSoftCap: read.real('final_logit_softcapping', 30),
      window: read.count('attention.sliding_window', 4096),
      windowPattern: read.windowPattern(2),
    };
    const config = readDecoder(read, traits);
    const { rope } = config;
    const base = read.real('rope.freq_base_swa', rope.base);
    return { ...config, windowRope: base === rope.base ? undefined : { ...rope, base } };
  },
  ...decoder,
};

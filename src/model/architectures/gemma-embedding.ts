import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import {
  attentionSpec,
  decoder,
  readDecoder,
  ROPE,
  sandwichNormLayer,
  unscaledRope,
  WINDOW_ROPE,
} from '../stacks/decoder.ts';
import { embeddingHead, readPooling } from '../stacks/embedding-head.ts';
import { count, flag, real, SHORT_WINDOW, wideHeads } from '../synthetic-family.ts';

/**
 * EmbeddingGemma: Gemma 3 as an encoder with symmetric windows, and two linear layers behind the pooling, which as
 * such are applied to each row before it (Schechter Vera et al. 2025).
 */
export const gemmaEmbedding: Architecture = {
  names: ['gemma-embedding'],
  configure(read) {
    const sizes = readDecoder(read);
    const { norm, width, fileRope } = sizes;
    const reach = Math.floor(read.count('attention.sliding_window') / 2);
    const windowed = read.windowed(6);
    const queryNorm = { norm, of: 'head' } as const;
    const windowRope = unscaledRope({ ...fileRope, base: read.real('rope.freq_base_swa', 10_000) });
    const layerOf = (layer: number) => {
      const local = windowed(layer) ? { reach, table: WINDOW_ROPE } : { table: ROPE };
      const traits = { pairs: 'neox', queryNorm, bidirectional: true, ...local } as const;
      return sandwichNormLayer(
        norm,
        attention(attentionSpec(sizes.heads(layer), traits)),
        feedForward({ form: 'gated', hidden: sizes.hidden(layer), activation: 'gelu_tanh' }),
      );
    };
    const embeds = embeddingHead(read, { pooling: readPooling(read) ?? 'none' });
    const hidden = read.countOrZero('dense_2_feat_out');
    const dense = hidden > 0 ? { dense: { hidden, outputs: read.count('dense_3_feat_out', width) } } : {};
    read.countOrZero('dense_2_feat_in');
    read.countOrZero('dense_3_feat_in');
    const made = decoder({ ...sizes, embeds: { ...embeds, head: { ...embeds.head, ...dense } } }, layerOf, {
      scale: Math.fround(Math.sqrt(width)),
      windowRope,
    });
    return { ...made, bidirectional: true };
  },
  synthetic: {
    metadata: (shape) => ({
      ...wideHeads(shape),
      'attention.causal': flag(false),
      'attention.sliding_window': count(SHORT_WINDOW),
      'attention.sliding_window_pattern': count(2),
      'rope.freq_base_swa': real(1000),
      dense_2_feat_in: count(shape.width),
      dense_2_feat_out: count(3 * shape.width),
      dense_3_feat_in: count(3 * shape.width),
      dense_3_feat_out: count(shape.width),
      pooling_type: count(1),
    }),
    optional: ['dense_2.weight', 'dense_3.weight'],
  },
};

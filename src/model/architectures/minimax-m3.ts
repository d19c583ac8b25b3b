import type { Architecture } from '../architecture.ts';
import { attention } from '../blocks/attention.ts';
import { mixtureOfExperts, requireExperts } from '../blocks/experts.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import { readBlockIndexer } from '../blocks/indexer.ts';
import { attentionSpec, decoder, preNormLayer, readDecoder } from '../stacks/decoder.ts';
import { count, expertMetadata, flag, halfRotated, OUTPUT, real } from '../synthetic-family.ts';

/**
 * MiniMax M3: after a few dense layers, key heads attend to blocks of positions that an indexer chooses for each, and rows
 * have experts; all feed-forwards are gpt-oss's clamped SwiGLU (MiniMax 2026).
 */
export const minimaxM3: Architecture = {
  names: ['minimax-m3'],
  configure(read) {
    const experts = requireExperts(read, { gate: 'sigmoid', shared: 'counted' });
    const sizes = readDecoder(read, { hidden: experts.hidden });
    const { norm } = sizes;
    const traits = { pairs: 'neox', queryNorm: { norm, of: 'head' } } as const;
    const activation = 'swiglu_oai';
    return decoder(sizes, (layer) => {
      const heads = sizes.heads(layer);
      if (layer < experts.leadingDense) {
        const dense = feedForward({ form: 'gated', hidden: sizes.hidden(layer), activation });
        return preNormLayer(norm, attention(attentionSpec(heads, traits)), dense);
      }
      const indexer = { ...readBlockIndexer(read, heads.kvHeads), norm };
      const sparse = attention(attentionSpec(heads, { ...traits, indexer }));
      return preNormLayer(norm, sparse, mixtureOfExperts({ ...experts, activation }));
    });
  },
  synthetic: {
    metadata: (shape) => ({
      ...expertMetadata(shape),
      ...halfRotated(shape),
      leading_dense_block_count: count(1),
      expert_shared_count: count(1),
      expert_weights_norm: flag(true),
      expert_weights_scale: real(2),
      expert_gating_func: count(2),
      'attention.indexer.head_count': count(shape.kvHeads),
      'attention.indexer.key_length': count(Math.max(16, shape.headSize ?? shape.width / shape.heads)),
      'attention.indexer.top_k': count(shape.width < 1024 ? 3 : 16),
      'attention.indexer.block_size': count(shape.width < 1024 ? 4 : 128),
      'attention.indexer.local_blocks': count(1),
    }),
    optional: [OUTPUT, 'exp_probs_b.bias'],
  },
};

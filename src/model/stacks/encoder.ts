import { attention } from '../blocks/attention.ts';
import type { Block } from '../blocks/block.ts';
import type { Norm } from '../blocks/norm.ts';
import type { ConfigReader } from '../config-reader.ts';
import { groupsOf, type LayerSpec, type ModelConfig } from '../model-config.ts';
import { ROPE } from './decoder.ts';
import { embeddingHead, type RankTraits, readPooling } from './embedding-head.ts';

/** The first row (`[CLS]`) passes the dense layer of BERT's pooler, if the file has it, and the classifier. */
const RANK: RankTraits = { row: 'first', activation: 'tanh' };

/** ALiBi's exponent, which files do not store. */
const ALIBI_BIAS = 8;

/** How BERT-like encoders differ. */
export interface EncoderTraits {
  /** How positions enter: through RoPE, a learned vector for each, or a bias of the scores by distance. */
  readonly positions: 'rotary' | 'learned' | 'ALiBi';
  /** A layer's feed-forward. */
  readonly feedForward: (layer: number) => Block;
  /** Whether files may have norms of whole rows of queries and keys. */
  readonly queryNorms?: true;
}

/**
 * Composes a BERT-like encoder: each row attends to the whole text, norms follow the residual additions, and the last
 * layer's rows are the result. Throws `MODEL_CONFIG`.
 */
export function encoder(
  read: ConfigReader,
  { positions, feedForward, queryNorms }: EncoderTraits,
): ModelConfig {
  const { architecture } = read;
  const [width, heads] = [read.count('embedding_length'), read.count('attention.head_count')];
  const trainedContext = read.count('context_length');
  const norm: Norm = {
    kind: 'layer',
    epsilon: read.real('attention.layer_norm_epsilon'),
    bias: 'always',
  };
  const size = width / heads;
  const rope = positions === 'rotary' ? read.rope(size, trainedContext) : undefined;
  const layerOf = (layer: number): LayerSpec => ({
    sublayers: [
      {
        block: attention({
          heads,
          kvHeads: heads,
          keySize: size,
          valueSize: size,
          scale: 1 / Math.sqrt(size),
          bidirectional: true,
          ...(rope && { rope: { table: ROPE, pairs: 'neox' } }),
          ...(positions === 'ALiBi' && { alibiBias: ALIBI_BIAS, reach: trainedContext }),
          ...(queryNorms && { queryNorm: { norm, of: 'row', missing: 'allowed' } as const }),
        }),
        postNorm: { ...norm, name: 'attn_output_norm' },
      },
      {
        block: feedForward(layer),
        postNorm: { ...norm, name: 'layer_output_norm' },
      },
    ],
  });
  const layers = Array.from({ length: read.count('block_count') }, (_, layer) => layerOf(layer));
  return {
    architecture,
    state: groupsOf(layers),
    width,
    trainedContext,
    ...embeddingHead(read, { pooling: readPooling(read) ?? 'none', rank: RANK }),
    bidirectional: true,
    embedding: {
      tokenTypes: true,
      norm: { ...norm, name: 'token_embd_norm' },
      ...(rope && { ropes: { [ROPE]: { parameters: rope } } }),
      ...(positions === 'learned' && { learnedPositions: trainedContext }),
    },
    layers,
  };
}

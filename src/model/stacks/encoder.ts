import { attention } from '../blocks/attention.ts';
import type { Block } from '../blocks/block.ts';
import type { Norm } from '../blocks/norm.ts';
import type { ConfigReader } from '../config-reader.ts';
import { groupsOf, type LayerSpec, type ModelConfig } from '../model-config.ts';
import { ROPE } from './decoder.ts';
import { embeddingHead, type RankTraits, readPooling } from './embedding-head.ts';

/** The first row (`[CLS]`) passes the dense layer of BERT's pooler, if the file has it, and the classifier. */
const RANK: RankTraits = { row: 'first', activation: 'tanh' };

/** How BERT-like encoders differ. */
export interface EncoderTraits {
  /** Whether positions enter through RoPE; otherwise through a learned vector for each. */
  readonly rotary: boolean;
  /** A layer's feed-forward. */
  readonly feedForward: (layer: number) => Block;
}

/**
 * Composes a BERT-like encoder: each row attends to the whole text, norms follow the residual additions, and the last
 * layer's rows are the result. Throws `MODEL_CONFIG`.
 */
export function encoder(read: ConfigReader, { rotary, feedForward }: EncoderTraits): ModelConfig {
  const { architecture } = read;
  const [width, heads] = [read.count('embedding_length'), read.count('attention.head_count')];
  const trainedContext = read.count('context_length');
  const norm: Norm = {
    kind: 'layer',
    epsilon: read.real('attention.layer_norm_epsilon'),
    bias: 'always',
  };
  const size = width / heads;
  const rope = rotary ? read.rope(size, trainedContext) : undefined;
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
      ...(rope ? { ropes: { [ROPE]: { parameters: rope } } } : { learnedPositions: trainedContext }),
    },
    layers,
  };
}

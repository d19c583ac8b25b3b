import { attention } from '../blocks/attention.ts';
import { feedForward } from '../blocks/feed-forward.ts';
import type { Norm } from '../blocks/norm.ts';
import type { ConfigReader } from '../config-reader.ts';
import { ROPE } from './decoder.ts';
import { groupsOf, type LayerSpec, type ModelConfig, type Pooling } from '../model-config.ts';

/** `pooling_type` as llama.cpp's converters write it. */
const POOLINGS: Readonly<Record<number, Pooling>> = { 0: 'none', 1: 'mean', 2: 'first', 3: 'last' };

/**
 * Composes an encoder of BERT's kind: each row sees the whole text, norms stand behind the residual additions, and the last
 * layer's rows are the result. Where positions are `rotary`, the feed-forward is gated (Nomic's); else a vector is added for each
 * position. Throws `MODEL_CONFIG`.
 */
export function encoder(read: ConfigReader, { rotary }: { rotary: boolean }): ModelConfig {
  const { architecture } = read;
  const [width, heads] = [read.count('embedding_length'), read.count('attention.head_count')];
  const trainedContext = read.count('context_length');
  const type = read.real('pooling_type', 0);
  const pooling = POOLINGS[type];
  if (pooling === undefined)
    return read.refuse('pooling_type', String(type), '0 to 3: none, mean, first or last');
  const norm: Norm = {
    kind: 'layer',
    epsilon: read.real('attention.layer_norm_epsilon'),
    bias: 'always',
  };
  const size = width / heads;
  const rope = rotary ? read.rope(size, trainedContext) : undefined;
  const layer: LayerSpec = {
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
        block: feedForward({
          form: rope ? 'gated' : 'plain',
          hidden: read.count('feed_forward_length'),
          activation: rope ? 'silu' : 'gelu_tanh',
        }),
        postNorm: { ...norm, name: 'layer_output_norm' },
      },
    ],
  };
  const layers = Array.from({ length: read.count('block_count') }, () => layer);
  return {
    architecture,
    state: groupsOf(layers),
    width,
    trainedContext,
    pooling,
    embedding: {
      tokenTypes: true,
      norm: { ...norm, name: 'token_embd_norm' },
      ...(rope ? { ropes: { [ROPE]: { parameters: rope } } } : { learnedPositions: trainedContext }),
    },
    layers,
    head: { kind: 'rows' },
  };
}

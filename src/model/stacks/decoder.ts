import type { RopePairs, RopeParameters } from '../../ops/rope.ts';
import type { AttentionSpec, Heads } from '../blocks/attention.ts';
import type { Block } from '../blocks/block.ts';
import type { Norm } from '../blocks/norm.ts';
import type { ConfigReader } from '../config-reader.ts';
import {
  type EmbeddingSpec,
  groupsOf,
  type HeadSpec,
  type LayerSpec,
  type ModelConfig,
  type Pooling,
} from '../model-config.ts';

/** The table of rotary angles that a decoder's layers share. */
export const ROPE = 'rope';

/** The one that layers with a window have, where it differs. */
export const WINDOW_ROPE = 'window rope';

/** What the files of decoders say in the same words, whatever the family. Widths count elements. */
export interface DecoderSizes {
  readonly architecture: string;
  /** Layers of the model; those that stand behind to predict further tokens are left out. */
  readonly layers: number;
  readonly width: number;
  readonly trainedContext: number;
  readonly norm: Norm;
  readonly rope: RopeParameters;
  /** Positions from which on `rope_factors_long.weight` takes the place of the short ones. */
  readonly originalContext: number;
  /** How rows become a text's vector; `none` of models that continue texts. */
  readonly pooling: Pooling;
  /** A layer's heads. */
  heads(layer: number): Heads;
  /** Width of a layer's feed-forward. */
  hidden(layer: number): number;
}

/** Reads a decoder's sizes. `hidden` is for files of mixtures, which may not say how wide a feed-forward is. Throws `MODEL_CONFIG`. */
export function readDecoder(
  read: ConfigReader,
  { norm = 'rms', hidden }: { norm?: Norm['kind']; hidden?: number | undefined } = {},
): DecoderSizes {
  const width = read.count('embedding_length');
  const heads = read.counts('attention.head_count');
  const keySize = read.count('attention.key_length', width / heads(0));
  const trainedContext = read.count('context_length');
  const all = read.count('block_count');
  const predicting = read.countOrZero('nextn_predict_layers');
  if (predicting >= all) read.refuse('nextn_predict_layers', `${predicting}`, `less than ${all} layers`);
  const kvHeads = read.counts('attention.head_count_kv', heads);
  const valueSize = read.count('attention.value_length', width / heads(0));
  const hiddenOf = read.counts('feed_forward_length', hidden);
  const sizes: DecoderSizes = {
    architecture: read.architecture,
    layers: all - predicting,
    width,
    trainedContext,
    norm:
      norm === 'rms'
        ? { kind: norm, epsilon: read.real('attention.layer_norm_rms_epsilon') }
        : { kind: norm, epsilon: read.real('attention.layer_norm_epsilon'), bias: 'if there' },
    rope: read.rope(read.count('rope.dimension_count', keySize), trainedContext),
    originalContext: read.count('rope.scaling.original_context_length', trainedContext),
    pooling: readPooling(read),
    heads: (layer) => ({ heads: heads(layer), kvHeads: kvHeads(layer), keySize, valueSize }),
    hidden: hiddenOf,
  };
  checkSizes(read, sizes);
  return sizes;
}

/** `pooling_type` as llama.cpp's converters write it, and as llama.cpp itself does where nothing is said: -1 without a sign. */
const POOLINGS: Readonly<Record<number, Pooling>> = {
  0: 'none',
  1: 'mean',
  2: 'first',
  3: 'last',
  [2 ** 32 - 1]: 'none',
};

/** How a file says that rows become a text's vector. Throws `MODEL_CONFIG`: what ranks texts is not computed. */
export function readPooling(read: ConfigReader): Pooling {
  const type = read.real('pooling_type', 0);
  return POOLINGS[type] ?? read.refuse('pooling_type', String(type), '0 to 3: none, mean, first or last');
}

/** Sizes that no layer could be recorded with. */
function checkSizes(read: ConfigReader, { layers, rope, ...of }: DecoderSizes): void {
  const { keySize } = of.heads(0);
  if (rope.dimensions % 2 !== 0 || rope.dimensions > keySize) {
    read.refuse('rope.dimension_count', `${rope.dimensions}`, `an even number of at most ${keySize}`);
  }
  for (let layer = 0; layer < layers; layer++) {
    const { heads, kvHeads } = of.heads(layer);
    if (heads % kvHeads === 0) continue;
    read.refuse('attention.head_count_kv', `${kvHeads}`, `a divisor of ${heads} heads`);
  }
}

/** In what a family's attention differs from Llama's: all heads rotated by the model's angles, `attention.scale` or the usual factor. */
export interface AttentionTraits extends Omit<AttentionSpec, keyof Heads | 'rope' | 'scale'> {
  /** Factor of the scores; undefined for the file's, or the root of the head's size. */
  readonly scale?: number | undefined;
  /** Which values of a head are rotated together; undefined where positions enter otherwise. */
  readonly pairs: RopePairs | undefined;
  /** Default `ROPE`. */
  readonly table?: string;
}

/** A layer's attention, described. */
export function attentionSpec(
  read: ConfigReader,
  heads: Heads,
  { pairs, table = ROPE, ...traits }: AttentionTraits,
): AttentionSpec {
  return {
    ...heads,
    ...traits,
    scale: traits.scale ?? read.real('attention.scale', 1 / Math.sqrt(heads.keySize), true),
    ...(pairs && { rope: { table, pairs } }),
  };
}

/** Both halves of a layer, each reading through a norm (Xiong et al. 2020). */
export function preNormLayer(
  norm: Norm,
  attention: Block,
  feedForward: Block,
  feedForwardNorm = 'ffn_norm',
): LayerSpec {
  return {
    sublayers: [
      { preNorm: { ...norm, name: 'attn_norm' }, block: attention },
      { preNorm: { ...norm, name: feedForwardNorm }, block: feedForward },
    ],
  };
}

/** Both halves beside each other, each reading the layer's input through a norm, which may be the same (Wang & Komatsuzaki 2021). */
export function parallelLayer(
  norm: Norm,
  attention: Block,
  feedForward: Block,
  feedForwardNorm = 'attn_norm',
): LayerSpec {
  const [first, second] = preNormLayer(norm, attention, feedForward, feedForwardNorm).sublayers;
  return {
    sublayers: [
      { ...first, block: attention },
      { ...second, block: feedForward, reads: 'layer' },
    ],
  };
}

/** A layer that adds `factor` times what its halves compute. */
export function scaledLayer({ sublayers }: LayerSpec, factor: number): LayerSpec {
  return { sublayers: sublayers.map((sublayer) => ({ ...sublayer, factor })) };
}

/** A norm of what each half adds, too ("sandwich", Ding et al. 2021). */
export function sandwichNormLayer(norm: Norm, attention: Block, feedForward: Block): LayerSpec {
  const [first, second] = preNormLayer(norm, attention, feedForward).sublayers;
  return {
    sublayers: [
      { ...first, block: attention, outputNorm: { ...norm, name: 'post_attention_norm' } },
      { ...second, block: feedForward, outputNorm: { ...norm, name: 'post_ffw_norm' } },
    ],
  };
}

/** Norms of what each half adds alone (OLMo team 2025). */
export function outputNormLayer(norm: Norm, attention: Block, feedForward: Block): LayerSpec {
  return {
    sublayers: [
      { block: attention, outputNorm: { ...norm, name: 'post_attention_norm' } },
      { block: feedForward, outputNorm: { ...norm, name: 'post_ffw_norm' } },
    ],
  };
}

/**
 * Composes a decoder of its layers; embedding and head are Llama's but for what is given. Where the file says how rows are
 * pooled, the model embeds texts: its rows, normalized, stand in the logits' place.
 */
export function decoder(
  sizes: DecoderSizes,
  layer: (index: number) => LayerSpec,
  {
    windowRope,
    logitScale,
    softCap,
    ...embedding
  }: Omit<EmbeddingSpec, 'ropes'> & {
    /** Angles of layers with a window, where they differ from the others'. */
    readonly windowRope?: RopeParameters | undefined;
    readonly logitScale?: number | undefined;
    /** Of the logits. */
    readonly softCap?: number | undefined;
  } = {},
): ModelConfig {
  const { architecture, width, trainedContext, rope, originalContext, pooling } = sizes;
  const layers = Array.from({ length: sizes.layers }, (_, index) => layer(index));
  const norm = { ...sizes.norm, name: 'output_norm' };
  const head: HeadSpec =
    pooling === 'none' ? { kind: 'logits', norm, scale: logitScale, softCap } : { kind: 'rows', norm };
  const rotary = embedding.learnedPositions === undefined;
  const ropes = {
    ...(rotary && { [ROPE]: { parameters: rope, factorsFrom: originalContext } }),
    ...(windowRope && { [WINDOW_ROPE]: { parameters: windowRope } }),
  };
  const state = groupsOf(layers);
  return {
    architecture,
    state,
    width,
    trainedContext,
    ...(pooling !== 'none' && { pooling }),
    embedding: { ...embedding, ropes },
    layers,
    head,
  };
}

import { fail } from '../../base/errors.ts';
import type { RopePairs, RopeParameters } from '../../ops/rope.ts';
import type { AttentionSpec, Heads } from '../blocks/attention.ts';
import type { Block } from '../blocks/block.ts';
import type { Norm } from '../blocks/norm.ts';
import type { ConfigReader } from '../config-reader.ts';
import type { Pooling } from '../pooling.ts';
import { type EmbeddingHead, embeddingHead, type RankTraits, readPooling } from './embedding-head.ts';
import {
  type EarlierStreams,
  type EmbeddingSpec,
  groupsOf,
  type HeadSpec,
  type HyperConnectionsSpec,
  type LayerSpec,
  type ModelConfig,
  type BlockPredictor,
} from '../model-config.ts';

/** The name of the rotary table that a decoder's layers share. */
export const ROPE = 'rope';

/** The name of the table for layers with a window, if it differs. */
export const WINDOW_ROPE = 'window rope';

/** What decoder files specify with the same keys, whatever the architecture. Widths count elements. */
export interface DecoderSizes {
  readonly architecture: string;
  /** Number of layers, without those for multi-token prediction at the end. */
  readonly layers: number;
  /** Number of those. */
  readonly predicting: number;
  readonly width: number;
  readonly trainedContext: number;
  readonly norm: Norm;
  readonly rope: RopeParameters;
  /** The same with the file's own base and factor, whatever was requested: what layers with a window are derived from. */
  readonly fileRope: RopeParameters;
  /** Position from which `rope_factors_long.weight` replaces the short ones. */
  readonly originalContext: number;
  /** What replaces the logits of models that embed or rank; undefined for generative models. */
  readonly embeds: EmbeddingHead | undefined;
  /** A layer's heads. */
  heads(layer: number): Heads;
  /** Width of a layer's feed-forward. */
  hidden(layer: number): number;
}

/** How a family's sizes differ from Llama's. */
interface SizesTraits {
  readonly norm?: Norm['kind'];
  /** For files with experts, which may lack the feed-forward's width. */
  readonly hidden?: number | undefined;
  /** Whether some layers have no heads (a recurrence may replace attention) or no feed-forward: their counts are 0. */
  readonly hybrid?: boolean;
  /** The key of the norms' epsilon in files that lack `attention.layer_norm_rms_epsilon`. */
  readonly epsilonKey?: string;
  /** How files of the family rank, if they do. */
  readonly rank?: RankTraits;
}

const RMS_EPSILON = 'attention.layer_norm_rms_epsilon';

/** Reads a decoder's sizes. Throws `MODEL_CONFIG`. */
export function readDecoder(
  read: ConfigReader,
  { norm = 'rms', hidden, hybrid = false, epsilonKey = RMS_EPSILON, rank }: SizesTraits = {},
): DecoderSizes {
  const counts = hybrid ? 'countsOrZero' : 'counts';
  const width = read.count('embedding_length');
  const heads = read[counts]('attention.head_count');
  const keySize = read.count('attention.key_length', width / heads(0));
  const trainedContext = read.count('context_length');
  const all = read.count('block_count');
  const predicting = read.countOrZero('nextn_predict_layers');
  if (predicting >= all) read.refuse('nextn_predict_layers', `${predicting}`, `less than ${all} layers`);
  const kvHeads = read[counts]('attention.head_count_kv', heads);
  const valueSize = read.count('attention.value_length', width / heads(0));
  const pooling = decoderPooling(read);
  const hiddenOf = read[counts]('feed_forward_length', hidden);
  const rotated = read.count('rope.dimension_count', keySize);
  const sizes: DecoderSizes = {
    architecture: read.architecture,
    layers: all - predicting,
    predicting,
    width,
    trainedContext,
    norm:
      norm === 'rms'
        ? { kind: norm, epsilon: read.real(read.has(RMS_EPSILON) ? RMS_EPSILON : epsilonKey) }
        : { kind: norm, epsilon: read.real('attention.layer_norm_epsilon'), bias: 'if there' },
    rope: read.rope(rotated, trainedContext),
    fileRope: read.fileRope(rotated, trainedContext),
    originalContext: read.count('rope.scaling.original_context_length', trainedContext),
    embeds: pooling && embeddingHead(read, { pooling, rank }),
    heads: (layer) => ({ heads: heads(layer), kvHeads: kvHeads(layer), keySize, valueSize }),
    hidden: hiddenOf,
  };
  checkSizes(read, sizes);
  return sizes;
}

/** A file without a pooling, or with `none`, is a generative model unless one is requested. */
function decoderPooling(read: ConfigReader): Pooling | undefined {
  const pooling = readPooling(read);
  return pooling === 'none' ? read.wanted.pooling : pooling;
}

/** Refuses sizes with which no layer could be recorded. */
function checkSizes(read: ConfigReader, { layers, rope, ...of }: DecoderSizes): void {
  const { keySize } = of.heads(0);
  if (rope.dimensions % 2 !== 0 || rope.dimensions > keySize) {
    read.refuse('rope.dimension_count', `${rope.dimensions}`, `an even number of at most ${keySize}`);
  }
  for (let layer = 0; layer < layers; layer++) {
    const { heads, kvHeads } = of.heads(layer);
    if (kvHeads === 0 || heads % kvHeads === 0) continue;
    read.refuse('attention.head_count_kv', `${kvHeads}`, `a divisor of ${heads} heads`);
  }
}

/**
 * How an architecture's attention differs from Llama's, which rotates all heads with the model's table and scales by
 * the usual factor.
 */
export interface AttentionTraits extends Omit<AttentionSpec, keyof Heads | 'rope' | 'scale'> {
  /** Factor on the scores; undefined for one over the square root of the head size. */
  readonly scale?: number | undefined;
  /** Which values of a head are rotated together; undefined if there is no RoPE. */
  readonly pairs: RopePairs | undefined;
  /** Default `ROPE`. */
  readonly table?: string;
}

/** The factor on the scores in files that name it, one over the square root of the head size in others (Granite). */
export function fileScale(read: ConfigReader, { keySize }: Heads): number {
  return read.real('attention.scale', 1 / Math.sqrt(keySize), true);
}

/** The description of a layer's attention. */
export function attentionSpec(
  heads: Heads,
  { pairs, table = ROPE, ...traits }: AttentionTraits,
): AttentionSpec {
  return {
    ...heads,
    ...traits,
    scale: traits.scale ?? 1 / Math.sqrt(heads.keySize),
    ...(pairs && { rope: { table, pairs } }),
  };
}

/** RoPE of layers with a window according to `rope.freq_base_swa`; undefined if it equals the model's. */
export function ownWindowRope(
  read: ConfigReader,
  { rope, fileRope }: Pick<DecoderSizes, 'rope' | 'fileRope'>,
  isScaled = true,
): RopeParameters | undefined {
  const based = { ...fileRope, base: read.real('rope.freq_base_swa', fileRope.base, true) };
  const own = isScaled ? based : unscaledRope(based);
  return JSON.stringify(own) === JSON.stringify(rope) ? undefined : own;
}

/**
 * RoPE of layers with a window whose angles the file's factor does not scale: of its scaling they have the factor on the
 * rotated values alone, as in llama.cpp.
 */
export function unscaledRope({ dimensions, base, scaling }: RopeParameters): RopeParameters {
  const attention = scaling.kind === 'yarn' ? scaling.attention : 1;
  if (scaling.kind !== 'yarn' || attention === 1) return { dimensions, base, scaling: { kind: 'none' } };
  return { dimensions, base, scaling: { ...scaling, factor: 1, extrapolation: 0 } };
}

/** Sequential sublayers, each with a pre-norm (Xiong et al. 2020). */
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

/**
 * Parallel sublayers, each reading the layer's input through a norm, possibly the same one (Wang & Komatsuzaki 2021).
 */
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

/** A layer that adds `factor` times the outputs of its sublayers. */
export function scaledLayer({ sublayers }: LayerSpec, factor: number): LayerSpec {
  return { sublayers: sublayers.map((sublayer) => ({ ...sublayer, factor })) };
}

/** Sublayers with norms before and after ("sandwich", Ding et al. 2021). */
export function sandwichNormLayer(norm: Norm, attention: Block, feedForward: Block): LayerSpec {
  const [first, second] = preNormLayer(norm, attention, feedForward).sublayers;
  return {
    sublayers: [
      { ...first, block: attention, outputNorm: { ...norm, name: 'post_attention_norm' } },
      { ...second, block: feedForward, outputNorm: { ...norm, name: 'post_ffw_norm' } },
    ],
  };
}

/** A layer whose norms of outputs have names without a suffix in files (PLaMo). */
export function withBareNorms({ sublayers }: LayerSpec): LayerSpec {
  return {
    sublayers: sublayers.map(({ outputNorm, ...of }) => ({
      ...of,
      ...(outputNorm && { outputNorm: { ...outputNorm, bare: true } }),
    })),
  };
}

/** Sublayers with a norm of the output only (OLMo team 2025). */
export function outputNormLayer(norm: Norm, attention: Block, feedForward: Block): LayerSpec {
  return {
    sublayers: [
      { block: attention, outputNorm: { ...norm, name: 'post_attention_norm' } },
      { block: feedForward, outputNorm: { ...norm, name: 'post_ffw_norm' } },
    ],
  };
}

/** The groups of the layers' state. Throws `MODEL_CONFIG` if no layer has any. */
function stateOf(architecture: string, layers: readonly LayerSpec[]): ModelConfig['state'] {
  const state = groupsOf(layers);
  if (state.length > 0) return state;
  const key = `${architecture}.attention.head_count`;
  fail('MODEL_CONFIG', {
    key,
    found: 'no heads in any layer',
    expected: 'attention or a recurrence in some',
  });
}

/** The layer for multi-token prediction behind the model's own. */
function blockBehind(
  { layers: index, norm }: DecoderSizes,
  { layer, ...of }: PredictorTraits,
): BlockPredictor {
  return { kind: 'block', layer: layer(index), index, norm, ...of };
}

/** How a predictor differs from others, and its layer, which stands at an index in the file. */
interface PredictorTraits extends Pick<BlockPredictor, 'reads' | 'headNorm'> {
  readonly layer: (index: number) => LayerSpec;
}

/**
 * Composes a decoder of its layers; embedding and head are Llama's except for the given options. If the file names a
 * pooling, the model computes embeddings: its normalized rows take the place of logits.
 */
export function decoder(
  sizes: DecoderSizes,
  layer: (index: number) => LayerSpec,
  {
    windowRope,
    ropeFactors: factorCount,
    logitScale,
    softCap,
    outputNorm = 'output_norm',
    isRotary = true,
    ropes: ownRopes,
    hyper,
    earlier,
    predictor,
    ...embedding
  }: Omit<EmbeddingSpec, 'ropes'> & {
    /** RoPE of layers with a window, if it differs from the others'. */
    readonly windowRope?: RopeParameters | undefined;
    /** Factors of the RoPE's frequencies, if the file has more of them than the RoPE uses. */
    readonly ropeFactors?: number;
    readonly logitScale?: number | undefined;
    /** Of the logits. */
    readonly softCap?: number | undefined;
    /** Name of the norm before the logits. */
    readonly outputNorm?: string;
    /** Whether layers use the model's RoPE table; models with learned positions have none. */
    readonly isRotary?: boolean;
    /** Further tables of rotary angles. */
    readonly ropes?: EmbeddingSpec['ropes'];
    /** How the head reads several residual streams. */
    readonly hyper?: HyperConnectionsSpec;
    /** The residual stream of earlier layers that the head reads, too. */
    readonly earlier?: EarlierStreams | undefined;
    /**
     * The layer for multi-token prediction, if the architecture defines one: what it reads, and its blocks. Of several,
     * the first is used for each of the tokens.
     */
    readonly predictor?: PredictorTraits | undefined;
  } = {},
): ModelConfig {
  const { architecture, width, trainedContext, rope, originalContext, embeds } = sizes;
  const layers = Array.from({ length: sizes.layers }, (_, index) => layer(index));
  const norm = { ...sizes.norm, name: outputNorm };
  const logits = { kind: 'logits', norm, scale: logitScale, softCap, hyper, earlier } as const;
  const head: HeadSpec = embeds ? { ...embeds.head, norm } : logits;
  const ropes = {
    ...(isRotary &&
      embedding.learnedPositions === undefined && {
        [ROPE]: { parameters: rope, factorsFrom: originalContext, factorCount },
      }),
    ...(windowRope && { [WINDOW_ROPE]: { parameters: windowRope } }),
    ...ownRopes,
  };
  return {
    architecture,
    state: stateOf(architecture, layers),
    width,
    trainedContext,
    ...embeds,
    embedding: { ...embedding, ropes },
    layers,
    head,
    ...(predictor && sizes.predicting > 0 && { predictor: blockBehind(sizes, predictor) }),
  };
}

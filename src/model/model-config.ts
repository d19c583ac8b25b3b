import type { Activation } from '../ops/elementwise.ts';
import type { RopeParameters } from '../ops/rope.ts';
import type { AltUpSpec } from './blocks/altup.ts';
import type { AttentionSpec } from './blocks/attention.ts';
import type { EarlierStreams } from './blocks/earlier-streams.ts';
import type { HyperConnectionsSpec } from './blocks/hyper-connections.ts';
import type { Block } from './blocks/block.ts';
import type { NamedNorm, Norm } from './blocks/norm.ts';
import type { PerLayerSpec } from './blocks/per-layer-input.ts';
import type { Pooling } from './pooling.ts';
import { distinctGroups, type StateGroup } from './state-groups.ts';

export type { AltUpSpec } from './blocks/altup.ts';
export type { EarlierStreams } from './blocks/earlier-streams.ts';
export type { HyperConnectionsSpec } from './blocks/hyper-connections.ts';
export type { Block } from './blocks/block.ts';
export type { NamedNorm, Norm } from './blocks/norm.ts';
export type { PerLayerSpec } from './blocks/per-layer-input.ts';

/**
 * A model as a composition: its properties, and the parts from which its graphs are recorded. Widths count elements.
 */
export interface ModelConfig {
  readonly architecture: string;
  /** The groups of its sequence state. */
  readonly state: readonly StateGroup[];
  /** Width of the residual stream. */
  readonly width: number;
  /** The trained context, in positions. */
  readonly trainedContext: number;
  /**
   * The pooling of models that compute embeddings, whose rows take the place of logits; undefined for generative
   * models.
   */
  readonly pooling?: Pooling;
  /** What a model with the pooling `rank` scores. */
  readonly classifier?: Classifier;
  /** True for encoders: rows attend to later ones, too, so a text is computed in a single step. */
  readonly bidirectional?: true;
  readonly embedding: EmbeddingSpec;
  /** The description of each layer: layers may differ in sizes, windows and blocks. */
  readonly layers: readonly LayerSpec[];
  readonly head: HeadSpec;
  /** What predicts the token after the next one, if the file has that, or a drafter's file. */
  readonly predictor?: PredictorSpec;
}

/** What proposes draft tokens as a part of the model, whose results it reads. */
export type PredictorSpec = BlockPredictor | DrafterSpec;

/** A predictor with a file of its own. */
export type DrafterSpec = FeaturePredictor | MaskPredictor | CachePredictor;

/**
 * Multi-token prediction (DeepSeek-AI 2024, "DeepSeek-V3 Technical Report", 2.2): a layer behind the model's own that
 * reads the model's result for a position and the embedding of the next token, and predicts the token after that. Its
 * own result takes the place of the model's when it continues its prediction.
 */
export interface BlockPredictor {
  readonly kind: 'block';
  readonly layer: LayerSpec;
  /** The index of the layer in the file. */
  readonly index: number;
  /**
   * Which result of the layers it reads, and hands on to itself: after the norm before the logits, or before it, where there may
   * be several residual streams (DeepSeek V4).
   */
  readonly reads: 'normed' | 'residual';
  readonly norm: Norm;
  /** Its own norm before the logits, if it is of another kind (Nemotron 3). */
  readonly headNorm?: Norm;
}

/**
 * EAGLE-3 (Li et al. 2025, "EAGLE-3: Scaling up Inference Acceleration of Large Language Models via Training-Time Test"):
 * a layer of a file of its own that reads what three of the model's layers read, fused by a product, and the embedding of
 * the next token. Its own result takes the place of the fused ones when it continues its prediction.
 */
export interface FeaturePredictor {
  readonly kind: 'features';
  /** Its attention, which reads rows twice as wide, and its feed-forward. */
  readonly layer: LayerSpec;
  readonly norm: Norm;
  readonly width: number;
  /** The layers of the model whose inputs are fused, and the width of these. */
  readonly features: readonly number[];
  readonly featureWidth: number;
  /** Whether the features have a norm before they are fused. */
  readonly normsFeatures: boolean;
  /** What attention is added to: the fused features, or their norm. */
  readonly adds: 'raw' | 'normed';
  readonly rope: RopeParameters;
}

/**
 * Layers of a file of its own that guess several tokens at once (Chen et al. 2026, "DFlash: Block Diffusion for Flash
 * Speculative Decoding"). What some of the model's layers read at a position, fused by a product, gives the keys and
 * values of that position in each of them. The last token and as many masks as tokens are to be guessed follow these
 * positions as a block, whose rows attend to all of it, and each mask's row guesses the token in its place.
 */
export interface MaskPredictor {
  readonly kind: 'masks';
  readonly layers: readonly LayerSpec[];
  /** The attention of each layer, whose keys and values the model's positions have. @internal */
  readonly attention: readonly AttentionSpec[];
  readonly norm: Norm;
  readonly width: number;
  /** The layers of the model whose inputs are fused, and the width of these. */
  readonly features: readonly number[];
  readonly featureWidth: number;
  /** Factor on the embeddings of the block. */
  readonly embeddingScale: number;
  readonly rope: RopeParameters;
  /** What becomes of its logits, as in the model's own head. */
  readonly logits: Pick<Extract<HeadSpec, { kind: 'logits' }>, 'scale' | 'softCap'>;
  /** Rows of the blocks that it was trained on: the last token and the masks. */
  readonly block: number;
  /** The token that stands for one that is to be guessed. */
  readonly mask: number;
}

/**
 * Layers of a file of its own that attend to caches of the model (Gemma team 2026, Gemma 4's assistants). They read the embedding of
 * the next token beside the model's result after its norm, of which their own takes the place when they continue their prediction.
 * All drafts behind a text are attended from one position, the one behind it.
 */
export interface CachePredictor {
  readonly kind: 'caches';
  readonly layers: readonly LayerSpec[];
  readonly norm: Norm;
  readonly width: number;
  /** It reads no layer's input. */
  readonly features: readonly number[];
  /** The width of the model's result. */
  readonly featureWidth: number;
  readonly rope: RopeParameters;
  /** Of layers with a window. */
  readonly windowRope: RopeParameters;
}

/** What a classifier scores. */
export interface Classifier {
  /** The file's names of the scores, in order; none if there is one score without a name. */
  readonly labels: readonly string[];
  /** The row that is classified. */
  readonly row: 'first' | 'last';
  /** Whether the scores are probabilities, by a softmax over the labels. */
  readonly isNormalized?: true;
}

/** The layers of a classifier. */
export interface ClassifierSpec {
  /** Number of scores. */
  readonly outputs: number;
  /** The activation after `cls.weight`, if the file has that. */
  readonly activation: Activation;
}

/** From token ids to the residual stream. */
export interface EmbeddingSpec {
  /** Factor on the token embeddings. Default 1. */
  readonly scale?: number;
  /** Rows of `position_embd.weight`, of which each embedding gets one added. Default: none. */
  readonly learnedPositions?: number;
  /** Whether rows of `token_types.weight` are added if the file has it (BERT). */
  readonly tokenTypes?: boolean;
  /** Norm of the sum. */
  readonly norm?: NamedNorm;
  /** Values for each layer that depend on the token, beside the residual stream. Default: none. */
  readonly perLayer?: PerLayerSpec;
  /** How many residual streams the embeddings are split into (AltUp). Default: one. */
  readonly streams?: number;
  /** How many residual streams begin as the embeddings (DeepSeek V4). Default: one. */
  readonly copies?: number;
  /** Whether layers add multiples of the embeddings, after `norm`, to their results (Talkie). */
  readonly sharesRows?: true;
  /** Whether layers read the ids of tokens. */
  readonly sharesIds?: true;
  /** Tables of rotary angles that layers share, by the names that blocks use. */
  readonly ropes?: Readonly<Record<string, RopeTableSpec>>;
}

/** A table of rotary angles. */
export interface RopeTableSpec {
  readonly parameters: RopeParameters;
  /**
   * If the file may have frequency factors: the position from which `rope_factors_long.weight` replaces the short ones
   * (Phi-3). Default: it has none.
   */
  readonly factorsFrom?: number;
  /** How many factors there are, if more than the table uses (Step 3.5). */
  readonly factorCount?: number | undefined;
}

/**
 * A sublayer, of which most layers have two: `x + factor * outputNorm(block(preNorm(x)))`, then `postNorm` of the sum
 * times `sumFactor`.
 * Norms that are not given are skipped: pre-norm (Llama), output norm (OLMo 2), both (Gemma 2), or post-norm (BERT).
 */
export interface Sublayer {
  /**
   * `layer` if the block reads the layer's input, in parallel with the previous block (GPT-J). Default: the output of
   * the previous one.
   */
  readonly reads?: 'layer';
  readonly preNorm?: NamedNorm | undefined;
  readonly block: Block;
  readonly outputNorm?: NamedNorm | undefined;
  /** Default 1. */
  readonly factor?: number;
  /** Factor on the sum. Default 1. */
  readonly sumFactor?: number;
  readonly postNorm?: NamedNorm | undefined;
}

/**
 * A layer: its sublayers in order. Weights are named without the layer's prefix, so that equal layers record equal
 * graphs.
 */
export interface LayerSpec {
  readonly sublayers: readonly Sublayer[];
  /**
   * Whether the layer's result is multiplied by `layer_output_scale.weight`, one value, if the file has it (Gemma 4), or the
   * embeddings are, which then are added to it (Talkie).
   */
  readonly scaled?: 'result' | 'embeddings';
  /** If the layer has several residual streams, of which the sublayers compute the first (Gemma 3n). Default: it has one. */
  readonly altUp?: AltUpSpec;
  /** If the layer has several residual streams that its sublayers read and write by shares (DeepSeek V4). Default: it has one. */
  readonly hyper?: HyperConnectionsSpec;
  /** The residual stream of earlier layers, if sublayers read it, too (Kimi K3). Default: they read the present one. */
  readonly earlier?: EarlierStreams;
}

/** The head of models that embed or rank: norm, linear layers, a classifier. Default: none of them. */
export interface RowsHead {
  readonly kind: 'rows';
  readonly norm?: NamedNorm;
  /** The widths of `dense_2` and `dense_3`, linear layers without an activation, if the file has them. */
  readonly dense?: { readonly hidden: number; readonly outputs: number };
  readonly classifier?: ClassifierSpec;
}

/** From the residual stream's output rows to logits, to the rows that are pooled into an embedding, or to scores. */
export type HeadSpec =
  | RowsHead
  | {
      readonly kind: 'logits';
      readonly norm: NamedNorm;
      /** False for architectures whose embeddings are never tied. */
      readonly tied?: false;
      /** Factor on the logits. Default 1. */
      readonly scale?: number | undefined;
      /** Scaled logits become `softCap * tanh(logit / softCap)`. */
      readonly softCap?: number | undefined;
      /** How several residual streams are read (DeepSeek V4). Default: there is one, or AltUp's. */
      readonly hyper?: HyperConnectionsSpec | undefined;
      /** The residual stream of earlier layers, if it is read, too (Kimi K3). Default: the last one is read. */
      readonly earlier?: EarlierStreams | undefined;
    };

/** A model with a predictor of this kind. */
export interface PredictingConfig<P extends PredictorSpec = PredictorSpec> extends ModelConfig {
  readonly predictor: P;
  readonly head: Extract<HeadSpec, { kind: 'logits' }>;
}

/** Whether the model can predict further tokens with a layer of its own. */
export function hasPredictor(config: ModelConfig): config is PredictingConfig {
  return config.predictor !== undefined && config.head.kind === 'logits';
}

/** The distinct state groups that layers use. */
export function groupsOf(layers: readonly LayerSpec[]): StateGroup[] {
  const blocks = layers.flatMap(({ sublayers }) => sublayers.map(({ block }) => block));
  return distinctGroups(blocks.flatMap(({ state }) => state ?? []));
}

/** The layers of a predictor. */
function predictorLayers(predictor: PredictorSpec): readonly LayerSpec[] {
  return 'layers' in predictor ? predictor.layers : [predictor.layer];
}

/** The groups of a model whose predictor runs, too, whose layers may keep what no layer of the model keeps. */
export function groupsWithPredictor({
  state,
  predictor,
}: Pick<ModelConfig, 'state' | 'predictor'>): StateGroup[] {
  return distinctGroups([...state, ...(predictor ? groupsOf(predictorLayers(predictor)) : [])]);
}

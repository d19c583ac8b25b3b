import type { Activation } from '../../ops/elementwise.ts';
import type { RoutingRule } from '../../ops/experts/route-experts.ts';
import type { RopePairs, RopeParameters } from '../../ops/rope.ts';
import type { ConfigReader, ModelConfig, WindowPattern } from '../model-config.ts';

/** In what the families of decoders differ. */
export interface DecoderTraits {
  /** How activations are normalized: by root mean square, or by mean and variance (with a bias). */
  readonly norm: 'rms' | 'layer';
  /** Whether each half of a layer normalizes what it reads ... */
  readonly normsBefore: boolean;
  /** ... and what it adds to the residual stream. */
  readonly normsAfter: boolean;
  /** What the norm is called that the feed-forward reads through. */
  readonly feedForwardNorm: 'ffn_norm' | 'post_attention_norm';
  /** Norm of queries and keys: of each head (in some families where the file has it), or of all heads of a row together. */
  readonly queryNorm: 'head' | 'head, if there' | 'row' | undefined;
  /** How positions enter: queries and keys are turned, or a vector is added to each embedding. */
  readonly positions: 'turned' | 'learned';
  readonly ropePairs: RopePairs;
  /** The feed-forward: `gated` by a second matrix, `fused` with it in `ffn_up` (first the gate's rows), or `plain`. */
  readonly feedForward: 'gated' | 'fused' | 'plain';
  readonly activation: Activation;
  /** Whether the values `ffn_*.scale` count, which stand beside NVFP4 weights: llama.cpp takes them for these families alone. */
  readonly feedForwardScales: boolean;
  /** Whether the values `ffn_*_exps.scale` do, one for each expert. */
  readonly expertScales: boolean;
  /** Factor of the token embeddings. */
  readonly embeddingScale: number;
  /** Factor of the attention scores; undefined for `attention.scale`, or the root of the head's size. */
  readonly attentionScale: number | undefined;
  /** `softCap * tanh(x / softCap)` of the attention scores ... */
  readonly attentionSoftCap: number | undefined;
  /** ... and of the logits. */
  readonly logitSoftCap: number | undefined;
  /** Positions that a row may look back on, itself included, in layers with a window; undefined for all. */
  readonly window: number | undefined;
  /** Which layers have the window. */
  readonly windowPattern: WindowPattern;
  /** Turns of layers with a window, where they differ from the others'. */
  readonly windowRope: RopeParameters | undefined;
  /** What is in the feed-forward's place; undefined where all layers have the same. */
  readonly experts: ExpertConfig | undefined;
}

/** A mixture of experts in place of the feed-forward (Shazeer et al. 2017; Dai et al. 2024, "DeepSeekMoE"). */
export interface ExpertConfig extends RoutingRule {
  readonly count: number;
  /** Width of an expert's hidden layer. */
  readonly hidden: number;
  /** Width of the hidden layer of the expert that all rows go to; 0 where there is none. */
  readonly sharedHidden: number;
  /** Layers in front that have a feed-forward. */
  readonly leadingDense: number;
}

/** Sizes and traits of a decoder. Widths count elements. */
export interface DecoderConfig extends ModelConfig, DecoderTraits {
  readonly heads: number;
  readonly kvHeads: number;
  readonly keySize: number;
  readonly valueSize: number;
  /** Width of the feed-forward's hidden layer. */
  readonly hidden: number;
  readonly normEpsilon: number;
  readonly rope: RopeParameters;
  /** Positions from which on `rope_factors_long.weight` takes the place of the short ones. */
  readonly originalContext: number;
  readonly attentionScale: number;
}

/** What most of them do, as Llama does (Touvron et al. 2023). */
export const DEFAULT_TRAITS: DecoderTraits = {
  norm: 'rms',
  normsBefore: true,
  normsAfter: false,
  feedForwardNorm: 'ffn_norm',
  queryNorm: undefined,
  positions: 'turned',
  ropePairs: 'interleaved',
  feedForward: 'gated',
  activation: 'silu',
  feedForwardScales: false,
  expertScales: false,
  embeddingScale: 1,
  attentionScale: undefined,
  attentionSoftCap: undefined,
  logitSoftCap: undefined,
  window: undefined,
  windowPattern: 0,
  windowRope: undefined,
  experts: undefined,
};

/**
 * Reads a decoder's sizes; its traits are the default ones but for those given. Layers that stand behind the last to predict
 * further tokens are left out. Throws `MODEL_CONFIG`.
 */
export function readDecoder(read: ConfigReader, differing: Partial<DecoderTraits> = {}): DecoderConfig {
  const traits = { ...DEFAULT_TRAITS, ...differing };
  const width = read.count('embedding_length');
  const heads = read.count('attention.head_count');
  const keySize = read.count('attention.key_length', width / heads);
  const trainedContext = read.count('context_length');
  const epsilon = traits.norm === 'rms' ? 'layer_norm_rms_epsilon' : 'layer_norm_epsilon';
  const layers = read.count('block_count');
  const predicting = read.countOrZero('nextn_predict_layers');
  if (predicting >= layers)
    read.refuse('nextn_predict_layers', `${predicting}`, `less than ${layers} layers`);
  const config: DecoderConfig = {
    ...traits,
    architecture: read.architecture,
    memory: 'paged',
    layers: layers - predicting,
    width,
    heads,
    kvHeads: read.count('attention.head_count_kv', heads),
    keySize,
    valueSize: read.count('attention.value_length', width / heads),
    // Files of models whose layers all are mixtures may say nothing of it.
    hidden: read.count('feed_forward_length', traits.experts?.hidden),
    trainedContext,
    originalContext: read.count('rope.scaling.original_context_length', trainedContext),
    normEpsilon: read.real(`attention.${epsilon}`),
    rope: read.rope(read.count('rope.dimension_count', keySize), trainedContext),
    attentionScale: traits.attentionScale ?? read.real('attention.scale', 1 / Math.sqrt(keySize), true),
  };
  checkSizes(read, config);
  return config;
}

/** Whether a layer looks back only as far as the window. */
export function hasWindow({ window, windowPattern: pattern }: DecoderConfig, layer: number): boolean {
  if (window === undefined || pattern === 0) return window !== undefined;
  return typeof pattern === 'number' ? layer % pattern < pattern - 1 : pattern[layer] === true;
}

/** Sizes that no layer could be recorded with. */
function checkSizes(read: ConfigReader, config: DecoderConfig): void {
  const { heads, kvHeads, keySize, rope } = config;
  if (heads % kvHeads !== 0)
    read.refuse('attention.head_count_kv', `${kvHeads}`, `a divisor of ${heads} heads`);
  if (rope.dimensions % 2 !== 0 || rope.dimensions > keySize) {
    read.refuse('rope.dimension_count', `${rope.dimensions}`, `an even number of at most ${keySize}`);
  }
}

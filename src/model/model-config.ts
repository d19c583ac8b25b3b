import type { RopeParameters } from '../ops/rope.ts';
import type { Block } from './blocks/block.ts';
import type { NamedNorm } from './blocks/norm.ts';
import { distinctGroups, type StateGroup } from './state-groups.ts';

export type { Block } from './blocks/block.ts';
export type { NamedNorm, Norm } from './blocks/norm.ts';

/** A model as a composition: what others ask of it, and the parts that its graphs are recorded from. Widths count elements. */
export interface ModelConfig {
  readonly architecture: string;
  /** What its layers remember of a sequence. */
  readonly state: readonly StateGroup[];
  /** Width of the residual stream. */
  readonly width: number;
  /** Positions that the model was trained for. */
  readonly trainedContext: number;
  /** Positions up to which what is recorded is what the model computes. Default: any number. */
  readonly maxContext?: number;
  /** How the rows of models that embed texts become one vector; undefined for those that continue them. The rows stand in the logits' place. */
  readonly pooling?: Pooling;
  readonly embedding: EmbeddingSpec;
  /** Each layer's own description: layers may differ in sizes, windows, blocks. */
  readonly layers: readonly LayerSpec[];
  readonly head: HeadSpec;
}

/**
 * How a model's rows are pooled into a text's vector: their mean, the first, the last, or none (each row by itself).
 */
export type Pooling = 'mean' | 'first' | 'last' | 'none';

/** Token ids to the residual stream. */
export interface EmbeddingSpec {
  /** Factor of the token embeddings. Default 1. */
  readonly scale?: number;
  /** Rows of `position_embd.weight`, a vector of which is added to each embedding. Default: none is. */
  readonly learnedPositions?: number;
  /** Whether rows of `token_types.weight` are added, where the file has it (BERT). */
  readonly tokenTypes?: boolean;
  /** Norm of the sum. */
  readonly norm?: NamedNorm;
  /** Tables of rotary angles that layers share, by the names that their blocks call them. */
  readonly ropes?: Readonly<Record<string, RopeTableSpec>>;
}

/** A table of rotary angles. */
export interface RopeTableSpec {
  readonly parameters: RopeParameters;
  /**
   * Where the file may hold factors of the frequencies: the positions from which on `rope_factors_long.weight` takes the place of
   * the short ones (Phi-3). Default: it holds none.
   */
  readonly factorsFrom?: number;
}

/**
 * One half of a layer, as most have two: `x + factor * outputNorm(block(preNorm(x)))`, and `postNorm` of the sum. Norms that are
 * not given are left out: pre-norm (Llama), norm of the output (OLMo 2), both (Gemma 2), or post-norm (BERT).
 */
export interface Sublayer {
  /** `layer` where the block reads what came into the layer, beside the block before it (GPT-J). Default: what that one made of it. */
  readonly reads?: 'layer';
  readonly preNorm?: NamedNorm | undefined;
  readonly block: Block;
  readonly outputNorm?: NamedNorm | undefined;
  /** Default 1. */
  readonly factor?: number;
  readonly postNorm?: NamedNorm | undefined;
}

/** A layer: its sublayers in order. Weights are named without the layer's prefix, so that equal layers record equal graphs. */
export interface LayerSpec {
  readonly sublayers: readonly Sublayer[];
}

/** The residual stream's output rows to logits, or to the rows that a text's vector is made of. */
export type HeadSpec =
  | { readonly kind: 'rows'; readonly norm?: NamedNorm }
  | {
      readonly kind: 'logits';
      readonly norm: NamedNorm;
      /** False for families whose embedding never is the output matrix, too. */
      readonly tied?: false;
      /** Factor of the logits. Default 1. */
      readonly scale?: number | undefined;
      /** Logits, scaled, become `softCap * tanh(logit / softCap)`. */
      readonly softCap?: number | undefined;
    };

/** What layers remember of a sequence: each group that one of them uses, once. */
export function groupsOf(layers: readonly LayerSpec[]): StateGroup[] {
  const blocks = layers.flatMap(({ sublayers }) => sublayers.map(({ block }) => block));
  return distinctGroups(blocks.flatMap(({ state }) => state ?? []));
}

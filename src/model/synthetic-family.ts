import type { GgufValue } from '../gguf/index.ts';

/** The sizes of a made-up model. Widths count elements. */
export interface SyntheticShape {
  /** One of the names that architectures answer to. */
  readonly architecture: string;
  readonly layers: number;
  readonly width: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly hidden: number;
  readonly vocabulary: number;
  readonly context: number;
  readonly ropeBase: number;
  /** Of a mixture: experts of a layer, those of a row, and the width of their hidden layers. */
  readonly experts?: number;
  readonly chosenExperts?: number;
  readonly expertHidden?: number;
}

/** What a synthetic file of an architecture says and has beyond what all of them do. */
export interface SyntheticFamily {
  /** Metadata below the architecture's name, by key. */
  readonly metadata?: (shape: SyntheticShape) => Readonly<Record<string, GgufValue>>;
  /** Metadata whose keys stand without the architecture's name. */
  readonly whole?: (shape: SyntheticShape) => Readonly<Record<string, GgufValue>>;
  /** Metadata of the tokenizer, by key. */
  readonly tokenizer?: (shape: SyntheticShape) => Readonly<Record<string, GgufValue>>;
  /** Tensors that a file of the architecture may have or not, and this one has: names within a layer, or the whole model. */
  readonly optional?: readonly string[];
  /** Shapes, columns first, of tensors that files hold in f32 and with more dimensions than rows and columns. */
  readonly shapes?: (shape: SyntheticShape) => Readonly<Record<string, readonly number[]>>;
  /** Shapes of tensors of the first layer that readers want to see, though nothing is computed with them. */
  readonly unused?: (shape: SyntheticShape) => Readonly<Record<string, readonly number[]>>;
}

/** A string as metadata hold it. */
export function text(value: string): GgufValue {
  return { type: 'string', value };
}

/** A count as metadata hold it. */
export function count(value: number): GgufValue {
  return { type: 'u32', value };
}

/** A real number as metadata hold it. */
export function real(value: number): GgufValue {
  return { type: 'f32', value };
}

/** A yes or no as metadata hold it. */
export function flag(value: boolean): GgufValue {
  return { type: 'bool', value };
}

/** The output matrix of models whose embedding is not tied. */
export const OUTPUT = 'output.weight';

/** Biases of the three projections in front of attention. */
export const QKV_BIASES: readonly string[] = ['attn_q.bias', 'attn_k.bias', 'attn_v.bias'];

/** Biases of a decoder's layer norms. */
export const LAYER_NORM_BIASES: readonly string[] = ['attn_norm.bias', 'ffn_norm.bias', 'output_norm.bias'];

/** Positions of a sliding window: so few that a text of some words is longer. */
export const SHORT_WINDOW = 8;

/** Sizes of a mixture; small ones where the shape is no mixture's. */
export function expertMetadata({ experts = 6, chosenExperts = 2, expertHidden = 32 }: SyntheticShape) {
  return {
    expert_count: count(experts),
    expert_used_count: count(chosenExperts),
    expert_feed_forward_length: count(expertHidden),
  };
}

/** The same where experts are as wide as `feed_forward_length` says, and files need not say it again. */
export function wideExperts(shape: SyntheticShape) {
  return { ...expertMetadata(shape), expert_feed_forward_length: count(shape.hidden) };
}

/** Heads that are wider than the residual stream has room for. */
export function wideHeads({ width, heads }: SyntheticShape): Record<string, GgufValue> {
  const size = 2 * (width / heads);
  return {
    'attention.key_length': count(size),
    'attention.value_length': count(size),
    'rope.dimension_count': count(size),
  };
}

/** As many as there are pieces: of a file that does not exist, no other count is known. */
export function tokenTypes({ vocabulary }: SyntheticShape): Record<string, GgufValue> {
  return { token_type_count: count(vocabulary) };
}

/** Rotary angles for half of each head. */
export function halfRotated({ width, heads }: SyntheticShape): Record<string, GgufValue> {
  return { 'rope.dimension_count': count(width / heads / 2) };
}

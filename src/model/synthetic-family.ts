import type { GgufValue } from '../gguf/index.ts';

/** The sizes of a synthetic model. Widths count elements. */
export interface SyntheticShape {
  /** One of the names of an architecture. */
  readonly architecture: string;
  readonly layers: number;
  readonly width: number;
  readonly heads: number;
  /** The width of a head, where it is not `width / heads`. */
  readonly headSize?: number;
  readonly kvHeads: number;
  readonly hidden: number;
  readonly vocabulary: number;
  readonly context: number;
  readonly ropeBase: number;
  /** For mixtures of experts: experts per layer, experts per row, and the width of their hidden layers. */
  readonly experts?: number;
  readonly chosenExperts?: number;
  readonly expertHidden?: number;
}

/** What a synthetic file of an architecture has beyond the common metadata and tensors. */
export interface SyntheticFamily {
  /** Metadata under the architecture's name, by key. */
  readonly metadata?: (shape: SyntheticShape) => Readonly<Record<string, GgufValue>>;
  /** Metadata whose keys do not start with the architecture's name. */
  readonly whole?: (shape: SyntheticShape) => Readonly<Record<string, GgufValue>>;
  /** Metadata of the tokenizer, by key. */
  readonly tokenizer?: (shape: SyntheticShape) => Readonly<Record<string, GgufValue>>;
  /** Optional tensors that this file has: by name within a layer, or by full name. */
  readonly optional?: readonly string[];
  /** Shapes, columns first, of f32 tensors with more than two dimensions. */
  readonly shapes?: (shape: SyntheticShape) => Readonly<Record<string, readonly number[]>>;
  /** Shapes of tensors, of the first layer or by full name, that other readers require, though they are not used. */
  readonly unused?: (shape: SyntheticShape) => Readonly<Record<string, readonly number[]>>;
}

/** A string as a metadata value. */
export function text(value: string): GgufValue {
  return { type: 'string', value };
}

/** A count as a metadata value. */
export function count(value: number): GgufValue {
  return { type: 'u32', value };
}

/** A count per layer as a metadata value. */
export function counts(layers: number, of: (layer: number) => number): GgufValue {
  return { type: 'array', element: 'u32', values: Array.from({ length: layers }, (_, layer) => of(layer)) };
}

/** A real number as a metadata value. */
export function real(value: number): GgufValue {
  return { type: 'f32', value };
}

/** A real number per layer as a metadata value. */
export function reals(layers: number, of: (layer: number) => number): GgufValue {
  return { type: 'array', element: 'f32', values: Array.from({ length: layers }, (_, layer) => of(layer)) };
}

/** A boolean as a metadata value. */
export function flag(value: boolean): GgufValue {
  return { type: 'bool', value };
}

/** A boolean per layer as a metadata value. */
export function flags(layers: number, of: (layer: number) => boolean): GgufValue {
  return { type: 'array', element: 'bool', values: Array.from({ length: layers }, (_, layer) => of(layer)) };
}

/** The output matrix of models without tied embeddings. */
export const OUTPUT = 'output.weight';

/** Biases of the Q, K and V projections. */
export const QKV_BIASES: readonly string[] = ['attn_q.bias', 'attn_k.bias', 'attn_v.bias'];

/** Biases of a decoder's layer norms. */
export const LAYER_NORM_BIASES: readonly string[] = ['attn_norm.bias', 'ffn_norm.bias', 'output_norm.bias'];

/** Positions of a sliding window, small enough that a short text exceeds it. */
export const SHORT_WINDOW = 8;

/** Whether a model is smaller than any published one, so that its parts are scaled down, too. */
export function isSmall({ width }: SyntheticShape): boolean {
  return width < 1024;
}

/** Sizes of a mixture of experts; small defaults if the shape has no experts. */
export function expertMetadata({ experts = 6, chosenExperts = 2, expertHidden = 32 }: SyntheticShape) {
  return {
    expert_count: count(experts),
    expert_used_count: count(chosenExperts),
    expert_feed_forward_length: count(expertHidden),
  };
}

/** The same for experts as wide as `feed_forward_length`, which files need not repeat. */
export function wideExperts(shape: SyntheticShape) {
  return { ...expertMetadata(shape), expert_feed_forward_length: count(shape.hidden) };
}

/** KV heads in the last layer only: in the layers before it, a recurrence replaces attention. */
export function keyHeadsInLast({ layers, kvHeads }: SyntheticShape): Record<string, GgufValue> {
  return { 'attention.head_count_kv': inLayer(layers - 1, kvHeads, layers) };
}

/** A count in one of `layers` layers, 0 in all others. */
export function inLayer(layer: number, value: number, layers: number): GgufValue {
  const values = Array.from({ length: layers }, (_, index) => (index === layer ? value : 0));
  return { type: 'array', element: 'u32', values };
}

/** Heads wider than the residual stream's width divided by their number, unless the shape says how wide they are. */
export function wideHeads({ width, heads, headSize }: SyntheticShape): Record<string, GgufValue> {
  return headSizeMetadata(headSize ?? 2 * (width / heads));
}

/** Heads of that many elements. */
export function headSizeMetadata(size: number): Record<string, GgufValue> {
  return {
    'attention.key_length': count(size),
    'attention.value_length': count(size),
    'rope.dimension_count': count(size),
  };
}

/**
 * Sizes of latent attention: DeepSeek's, or small ones for small shapes; the cache holds latents, or the keys and
 * values of all heads.
 */
export function latentMetadata(
  shape: SyntheticShape,
  form: 'absorbed' | 'expanded',
): Record<string, GgufValue> {
  const { heads } = shape;
  const of = isSmall(shape)
    ? { latent: 32, queryLatent: 24, plain: 16, rotated: 16, value: 12 }
    : { latent: 512, queryLatent: 1536, plain: 128, rotated: 64, value: 128 };
  const keySize = of.plain + of.rotated;
  const sizes = {
    'attention.kv_lora_rank': count(of.latent),
    'attention.q_lora_rank': count(of.queryLatent),
    'rope.dimension_count': count(of.rotated),
  };
  if (form === 'expanded') {
    return {
      ...sizes,
      'attention.head_count_kv': count(heads),
      'attention.key_length': count(keySize),
      'attention.value_length': count(of.value),
    };
  }
  return {
    ...sizes,
    'attention.head_count_kv': count(1),
    'attention.key_length': count(of.latent + of.rotated),
    'attention.value_length': count(of.latent),
    'attention.key_length_mla': count(keySize),
    'attention.value_length_mla': count(of.value),
  };
}

/** Kimi delta attention, and latent attention in the last layer only, with queries directly from the row. */
export function deltaMetadata(shape: SyntheticShape): Record<string, GgufValue> {
  const { 'attention.q_lora_rank': _, ...latents } = latentMetadata(shape, 'absorbed');
  return {
    ...latents,
    ...keyHeadsInLast({ ...shape, kvHeads: 1 }),
    'kda.head_dim': count(deltaHeadSize(shape)),
    'ssm.conv_kernel': count(DELTA_TAPS),
  };
}

const DELTA_TAPS = 4;

function deltaHeadSize({ width }: SyntheticShape): number {
  return width < 1024 ? 16 : 128;
}

/** Shapes of its convolutions' taps, with four dimensions. */
export function deltaShapes(shape: SyntheticShape): Record<string, readonly number[]> {
  const taps = [DELTA_TAPS, 1, shape.heads * deltaHeadSize(shape), 1];
  return Object.fromEntries(['q', 'k', 'v'].map((of) => [`ssm_conv1d_${of}.weight`, taps]));
}

/** One per vocabulary entry, the only count known without a file. */
export function tokenTypes({ vocabulary }: SyntheticShape): Record<string, GgufValue> {
  return { token_type_count: count(vocabulary) };
}

/** RoPE on half of each head. */
export function halfRotated({ width, heads }: SyntheticShape): Record<string, GgufValue> {
  return { 'rope.dimension_count': count(width / heads / 2) };
}

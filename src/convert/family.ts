import type { GgufValue } from '../gguf/index.ts';
import type { CheckpointConfig } from './checkpoint-config.ts';
import type { CheckpointFiles } from './checkpoint.ts';
import { invalid } from './checkpoint.ts';

/** What is done to a stored tensor on the way into the file. */
export interface TensorChange {
  /** Applied to each value. */
  readonly value?: (value: number) => number;
  /** The shape in the file, in the order of `StoredTensor`, if it is another; elements are taken from the start. */
  readonly shape?: readonly number[];
  /** Where the units of the file come from: the number of the stored one by the number in the file. */
  readonly order?: (unit: number) => number;
  /** Elements of a unit. Default: a row; of vectors an element. */
  readonly unit?: number;
}

/** Metadata that a conversion writes, by their keys in the file. */
export type Settings = Map<string, GgufValue>;

/** A stored tensor, and what it becomes. */
export interface ChangedTensor {
  /** The usual name in checkpoints. */
  readonly name: string;
  /** The name in the file. */
  readonly target: string;
  /** Elements per dimension, the contiguous one last. */
  readonly shape: readonly number[];
  readonly config: CheckpointConfig;
}

/** How the checkpoints of an architecture become files, as llama.cpp's converter makes them. */
export interface CheckpointFamily {
  /** The names in `architectures` of `config.json`. */
  readonly classes: readonly string[];
  /** The value of `general.architecture`. */
  readonly architecture: string;
  /**
   * Names in the file by names in the checkpoint, both without `.weight` and `.bias`; `{}` is the number of a layer, `{e}` that of an
   * expert. Names in the checkpoint that have no such suffix have names in the file that do, of one tensor or of several.
   */
  readonly tensors: Readonly<Record<string, string | readonly string[]>>;
  /** The usual name of a tensor that the checkpoint has under another one; undefined for one that is left out. */
  rename?(name: string, config: CheckpointConfig): string | undefined;
  /** Names in the file of matrices that are always f32. */
  readonly alwaysF32?: readonly string[];
  /** The size of the vocabulary if the settings leave it out. */
  readonly vocabulary?: number;
  /**
   * Whether the vocabulary is SentencePiece's if the checkpoint has one, and whether texts get a space in front. With `as stored`
   * neither that is written nor are tokens beside the vocabulary changed.
   */
  readonly spaces?: 'added' | 'not added' | 'as stored';
  /** Whether the vocabulary is BERT's WordPiece. */
  readonly hasWordPieces?: boolean;
  /** Kinds of RoPE that the family has besides the common ones. */
  readonly ropeTypes?: readonly string[];
  /** Whether weights of experts may be quantized as MXFP4 in the checkpoint. */
  readonly hasMxfp4?: boolean;
  /** Writes the settings that not all families have. `names` are those of the stored tensors. */
  settings?(
    config: CheckpointConfig,
    settings: Settings,
    key: (name: string) => string,
    names: readonly string[],
  ): void;
  /** Writes settings that other files than `config.json` decide. */
  moreSettings?(files: CheckpointFiles, settings: Settings, key: (name: string) => string): Promise<void>;
  change?(change: ChangedTensor): TensorChange | undefined;
  /** Tensors that no file has: f32 vectors by name. */
  extra?(config: CheckpointConfig): ReadonlyMap<string, Float32Array>;
}

/** The names that nearly all decoders share. */
export const DECODER_TENSORS = {
  'model.embed_tokens': 'token_embd',
  'model.norm': 'output_norm',
  lm_head: 'output',
  'model.layers.{}.input_layernorm': 'blk.{}.attn_norm',
  'model.layers.{}.self_attn.q_proj': 'blk.{}.attn_q',
  'model.layers.{}.self_attn.k_proj': 'blk.{}.attn_k',
  'model.layers.{}.self_attn.v_proj': 'blk.{}.attn_v',
  'model.layers.{}.self_attn.o_proj': 'blk.{}.attn_output',
  'model.layers.{}.post_attention_layernorm': 'blk.{}.ffn_norm',
  'model.layers.{}.mlp.gate_proj': 'blk.{}.ffn_gate',
  'model.layers.{}.mlp.up_proj': 'blk.{}.ffn_up',
  'model.layers.{}.mlp.down_proj': 'blk.{}.ffn_down',
} as const;

/** The norms of each head's queries and keys. */
export const HEAD_NORMS = {
  'model.layers.{}.self_attn.q_norm': 'blk.{}.attn_q_norm',
  'model.layers.{}.self_attn.k_norm': 'blk.{}.attn_k_norm',
} as const;

/** Sums with one, of norms that are stored without it. */
export const plusOne = (value: number): number => value + 1;

/**
 * The order in which rows of heads come whose two halves become pairs of neighbours, as llama.cpp's plain RoPE has them. Throws
 * `CHECKPOINT_INVALID` unless there are whole heads.
 */
export function pairedHalves(name: string, rows: number, heads: number): (row: number) => number {
  const size = rows / heads;
  if (size % 2 !== 0)
    invalid('safetensors', `${name} of ${rows} rows`, `heads of ${size} rows, an even number`);
  return (row) => row - (row % size) + Math.floor((row % size) / 2) + ((row % 2) * size) / 2;
}

import type { GgufValue } from '../gguf/index.ts';
import type { CheckpointConfig } from './checkpoint-config.ts';
import type { StoredTensor } from './checkpoint.ts';

/** What is done to a stored tensor's rows on the way into the file. */
export interface RowChange {
  /** Added to each value. */
  readonly add?: number;
  /** Rows of a head, whose two halves become pairs of neighbours: the order of llama.cpp's plain RoPE. */
  readonly headRows?: number;
  /** Only so many rows. */
  readonly rows?: number;
  /** Another shape of as many elements, in the order of `StoredTensor`. */
  readonly shape?: readonly number[];
}

/** Metadata that a conversion writes, by their keys in the file. */
export type Settings = Map<string, GgufValue>;

/** How the checkpoints of an architecture become files, as llama.cpp's converter makes them. */
export interface CheckpointFamily {
  /** The names in `architectures` of `config.json`. */
  readonly classes: readonly string[];
  /** The value of `general.architecture`. */
  readonly architecture: string;
  /** Names in the file by names in the checkpoint, without suffixes; `{}` is the number of a layer, `{e}` that of an expert. */
  readonly tensors: Readonly<Record<string, string>>;
  /** Names in the file of matrices that are always f32. */
  readonly alwaysF32?: readonly string[];
  /** The size of the vocabulary if the settings leave it out. */
  readonly vocabulary?: number;
  /** Whether the vocabulary is SentencePiece's if the checkpoint has one. */
  readonly spaces?: 'added' | 'not added';
  /** Writes the settings that not all families have. */
  settings?(config: CheckpointConfig, settings: Settings, key: (name: string) => string): void;
  change?(name: string, tensor: StoredTensor, config: CheckpointConfig): RowChange | undefined;
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

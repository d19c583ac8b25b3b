import { fail } from '../base/errors.ts';
import { invalid, isObject, type JsonObject } from './checkpoint.ts';

/** Settings that say nothing about what a model computes, or that the file of tensors says better. */
const OTHERS = new Set([
  ...[
    '_name_or_path',
    'architectures',
    'auto_map',
    'dtype',
    'model_type',
    'torch_dtype',
    'transformers_version',
  ],
  ...['attention_dropout', 'embd_pdrop', 'hidden_dropout', 'initializer_range', 'mlp_dropout', 'use_cache'],
  ...[
    'output_attentions',
    'output_hidden_states',
    'output_router_logits',
    'router_aux_loss_coef',
    'pretraining_tp',
  ],
  ...['bos_token_id', 'eos_token_id', 'pad_token_id', 'sep_token_id', 'unk_token_id', 'tie_word_embeddings'],
  ...[
    'attention_bias',
    'mlp_bias',
    'max_window_layers',
    'return_dict',
    'use_bidirectional_attention',
    'cache_implementation',
  ],
]);

/** The settings of `config.json`; knows which were read. */
export class CheckpointConfig {
  readonly #file: string;
  readonly #values: JsonObject;
  readonly #read = new Set<string>();

  constructor(file: string, values: JsonObject) {
    this.#file = file;
    this.#values = values;
  }

  /** The names that were not read and that might matter. */
  get unread(): string[] {
    const isOpen = ([key, value]: [string, unknown]) =>
      value !== null && value !== false && !this.#read.has(key) && !OTHERS.has(key);
    return Object.entries(this.#values)
      .filter(isOpen)
      .map(([key]) => key);
  }

  /** The value of the first of several names that is there; null counts as missing. */
  get(...keys: readonly string[]): unknown {
    for (const key of keys) this.#read.add(key);
    return keys.map((key) => this.#values[key] ?? undefined).find((value) => value !== undefined);
  }

  /** A number, or undefined. */
  optional(...keys: readonly string[]): number | undefined {
    const value = this.get(...keys);
    if (value === undefined || typeof value === 'number') return value;
    return invalid(this.#file, `${keys[0]} ${JSON.stringify(value)}`, 'a number');
  }

  number(...keys: readonly string[]): number {
    return this.optional(...keys) ?? invalid(this.#file, `no ${keys.join(' or ')}`, 'a number');
  }

  /** Settings within one, or undefined. */
  inner(key: string): CheckpointConfig | undefined {
    const value = this.get(key);
    return isObject(value) ? new CheckpointConfig(`${this.#file}, ${key}`, value) : undefined;
  }

  /** Throws `CONVERT_UNSUPPORTED` unless a setting is absent or one of some values. */
  require(key: string, ...known: readonly unknown[]): void {
    const value = this.get(key);
    if (value === undefined || known.some((one) => JSON.stringify(one) === JSON.stringify(value))) return;
    const expected = known.map((one) => JSON.stringify(one)).join(' or ') || 'nothing';
    fail('CONVERT_UNSUPPORTED', { what: `${this.#file}: ${key}`, found: JSON.stringify(value), expected });
  }
}

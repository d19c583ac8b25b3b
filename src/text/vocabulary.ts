import { fail } from '../base/errors.ts';
import { TOKEN_TYPES } from './token-type.ts';
import type { TokenizerMetadata } from './tokenizer-metadata.ts';

const TOKENS = 'tokenizer.ggml.tokens';
const SCORES = 'tokenizer.ggml.scores';
const TYPES = 'tokenizer.ggml.token_type';

/** The list of tokens with their scores and types. The look-up by text is built when it is first asked. */
export class Vocabulary {
  #byText: Map<string, number> | undefined;

  private constructor(
    readonly texts: readonly string[],
    /** Higher is merged or preferred first; all zero where the file has none. */
    readonly scores: ArrayLike<number>,
    /** By the numbers of `TOKEN_TYPES`; corrected while special tokens are found, fixed afterwards. */
    readonly types: Uint8Array,
  ) {}

  /** Reads and checks the arrays. Throws `TOKENIZER_INVALID`. */
  static read(metadata: TokenizerMetadata): Vocabulary {
    const texts = metadata.strings(TOKENS);
    if (texts === undefined || texts.length === 0) {
      fail('TOKENIZER_INVALID', { key: TOKENS, found: 'none', expected: 'an array of strings' });
    }
    const scores = readArray(metadata, SCORES, texts.length);
    const types = readArray(metadata, TYPES, texts.length);
    return new Vocabulary(texts, scores ?? new Float32Array(texts.length), copyTypes(types, texts.length));
  }

  get size(): number {
    return this.texts.length;
  }

  /** The first entry of that text, of any type. */
  idOf(text: string): number | undefined {
    this.#byText ??= this.#index();
    return this.#byText.get(text);
  }

  /** The entry that plain text of that spelling may become: never a control, unknown or byte token. */
  plainIdOf(text: string): number | undefined {
    const id = this.idOf(text);
    return id !== undefined && this.isPlain(id) ? id : undefined;
  }

  isPlain(id: number): boolean {
    const type = this.types[id];
    return type !== TOKEN_TYPES.control && type !== TOKEN_TYPES.unknown && type !== TOKEN_TYPES.byte;
  }

  #index(): Map<string, number> {
    const byText = new Map<string, number>();
    for (let id = this.texts.length - 1; id >= 0; id--) byText.set(this.texts[id] as string, id);
    byText.delete('');
    return byText;
  }
}

function readArray(metadata: TokenizerMetadata, key: string, length: number): ArrayLike<number> | undefined {
  const values = metadata.numbers(key);
  if (values !== undefined && values.length < length) {
    fail('TOKENIZER_INVALID', { key, found: `${values.length} entries`, expected: `${length}, one a token` });
  }
  return values;
}

function copyTypes(types: ArrayLike<number> | undefined, length: number): Uint8Array {
  const copy = new Uint8Array(length);
  if (types === undefined) return copy.fill(TOKEN_TYPES.normal);
  for (let id = 0; id < length; id++) copy[id] = types[id] as number;
  return copy;
}

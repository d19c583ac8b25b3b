import { fail } from '../base/errors.ts';
import { ByteStringIndex } from './byte-string-index.ts';
import { StringList } from './string-list.ts';
import { TOKEN_TYPES } from './token-type.ts';
import type { TokenizerMetadata } from './tokenizer-metadata.ts';
import { utf8Bytes } from './utf8.ts';

const TOKENS = 'tokenizer.ggml.tokens';
const SCORES = 'tokenizer.ggml.scores';
const TYPES = 'tokenizer.ggml.token_type';

/** At least two characters, including one that is not a letter, mark, digit or space; U+2581 counts as a space. */
const MARKUP = /^(?=[^]*[^\p{L}\p{M}\p{N}\s\u2581])[^]{2}/u;

/** The list of tokens with their scores and types, as bytes; found by their spelling. */
export class Vocabulary {
  readonly #spellings: StringList;
  readonly #index: ByteStringIndex;
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });

  private constructor(
    spellings: StringList,
    /** Tokens with higher scores are merged or preferred first; all zero if the file has none. */
    readonly scores: ArrayLike<number>,
    /** By the numbers of `TOKEN_TYPES`; corrected while special tokens are identified, then constant. */
    readonly types: Uint8Array,
    index = new ByteStringIndex(spellings),
  ) {
    this.#spellings = spellings;
    this.#index = index;
  }

  /** Reads and checks the arrays. Throws `TOKENIZER_INVALID`. */
  static read(metadata: TokenizerMetadata): Vocabulary {
    const spellings = StringList.read(metadata, TOKENS);
    if (spellings === undefined || spellings.length === 0) {
      fail('TOKENIZER_INVALID', { key: TOKENS, found: 'none', expected: 'an array of strings' });
    }
    const scores = readArray(metadata, SCORES, spellings.length);
    const types = readArray(metadata, TYPES, spellings.length);
    return new Vocabulary(
      spellings,
      scores ?? new Float32Array(spellings.length),
      copyTypes(types, spellings.length),
    );
  }

  /**
   * The same vocabulary for text that must not become markup: user-defined tokens that are markup count as control
   * tokens. Undefined if there are none.
   */
  withoutMarkup(): Vocabulary | undefined {
    const types = this.types.slice();
    for (let id = 0; id < this.size; id++) if (this.isMarkup(id)) types[id] = TOKEN_TYPES.control;
    if (types.every((type, id) => type === this.types[id])) return undefined;
    return new Vocabulary(this.#spellings, this.scores, types, this.#index);
  }

  /**
   * True for user-defined tokens that ordinary text does not contain by chance: `<think>`, `[INST]`; not words, runs of
   * whitespace or single characters, which vocabularies also define this way.
   */
  isMarkup(id: number): boolean {
    return this.types[id] === TOKEN_TYPES.userDefined && MARKUP.test(this.text(id));
  }

  get size(): number {
    return this.#spellings.length;
  }

  /** Bytes of the longest spelling. */
  get longest(): number {
    let longest = 0;
    for (let id = 0; id < this.size; id++) {
      longest = Math.max(longest, this.#spellings.end(id) - this.#spellings.start(id));
    }
    return longest;
  }

  /** The token's spelling in the file; U+FFFD replaces invalid UTF-8. */
  text(id: number): string {
    return this.#decoder.decode(this.#spellings.bytesAt(id));
  }

  /** The bytes of the token's spelling, not copied. */
  bytes(id: number): Uint8Array {
    return this.#spellings.bytesAt(id);
  }

  /** The first entry of that text, of any type. */
  idOf(text: string): number | undefined {
    const bytes = utf8Bytes(text);
    const id = this.#index.find(bytes, 0, bytes.length);
    return id < 0 ? undefined : id;
  }

  /** The first entry spelled by these bytes, of any type; -1 if there is none. */
  find(bytes: Uint8Array, start: number, end: number): number {
    return this.#index.find(bytes, start, end);
  }

  /** The entry that plain text with this spelling may become: never a control, unknown or byte token. */
  plainIdOf(text: string): number | undefined {
    const id = this.idOf(text);
    return id !== undefined && this.isPlain(id) ? id : undefined;
  }

  /** False for control, unknown and byte tokens. */
  isPlain(id: number): boolean {
    const type = this.types[id];
    return type !== TOKEN_TYPES.control && type !== TOKEN_TYPES.unknown && type !== TOKEN_TYPES.byte;
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

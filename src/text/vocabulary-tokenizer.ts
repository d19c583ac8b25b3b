import { fail } from '../base/errors.ts';
import { finish, inTurns, type Steps } from '../base/turns.ts';
import { byteValue } from './models/byte-tokens.ts';
import type { SubwordModel } from './models/subword-model.ts';
import { SpecialSplitter, type StripRules } from './special-splitter.ts';
import type { SpecialTokens } from './special-tokens.ts';
import { TOKEN_TYPES, type TokenType, tokenTypeName } from './token-type.ts';
import type { DecodeOptions, EncodeOptions, Tokenizer } from './tokenizer.ts';
import { wellFormed } from './utf8.ts';
import type { Vocabulary } from './vocabulary.ts';

const SPACE = 0x20;
const NO_BYTES = new Uint8Array(0);

/** The parts of a tokenizer. */
export interface TokenizerSetup {
  readonly model: string;
  readonly vocabulary: Vocabulary;
  readonly special: SpecialTokens;
  readonly subwords: SubwordModel;
  /** The model for text that must not become markup. Default: `subwords`. */
  readonly guarded?: SubwordModel;
  readonly strip: StripRules;
  readonly marksTextStart: boolean;
  /** The tokens that `addSpecial` puts before and after a text. */
  readonly prefix: readonly number[];
  readonly suffix: readonly number[];
  /** True if the model also spells control tokens. */
  readonly spellsAllTokens?: boolean;
}

/** The tokenizer of every kind: special tokens around a `SubwordModel`. */
export class VocabularyTokenizer implements Tokenizer {
  readonly model: string;
  readonly special: SpecialTokens;
  readonly marksTextStart: boolean;
  readonly #setup: TokenizerSetup;
  readonly #vocabulary: Vocabulary;
  readonly #bytes: (Uint8Array | undefined)[];
  #splitter: SpecialSplitter | undefined;
  #longest: number | undefined;

  constructor(parts: TokenizerSetup) {
    this.model = parts.model;
    this.special = parts.special;
    this.marksTextStart = parts.marksTextStart;
    this.#setup = parts;
    this.#vocabulary = parts.vocabulary;
    this.#bytes = new Array<Uint8Array | undefined>(parts.vocabulary.size);
  }

  get vocabularySize(): number {
    return this.#vocabulary.size;
  }

  get longestToken(): number {
    this.#longest ??= this.#vocabulary.longest;
    return this.#longest;
  }

  encode(text: string, options: EncodeOptions = {}): number[] {
    return finish(this.#encode(text, options));
  }

  encodeInTurns(text: string, options: EncodeOptions & { signal?: AbortSignal } = {}): Promise<number[]> {
    return inTurns(this.#encode(text, options), 'encoding the text', options.signal);
  }

  *#encode(text: string, { addSpecial = true, parseSpecial = false }: EncodeOptions): Steps<number[]> {
    this.#splitter ??= new SpecialSplitter(this.#vocabulary, this.#setup.strip);
    const ids: number[] = addSpecial ? [...this.#setup.prefix] : [];
    let afterSpecial = true;
    const { subwords, guarded = subwords } = this.#setup;
    const model = typeof parseSpecial === 'boolean' ? subwords : guarded;
    for (const fragment of yield* this.#splitter.split(wellFormed(text), parseSpecial)) {
      if (typeof fragment === 'number') ids.push(fragment);
      else yield* model.encode(fragment, afterSpecial, ids);
      afterSpecial = typeof fragment === 'number';
    }
    if (addSpecial) ids.push(...this.#setup.suffix);
    return ids;
  }

  decode(ids: Iterable<number>, { special = false, keepLeadingSpace = false }: DecodeOptions = {}): string {
    const pieces: Uint8Array[] = [];
    let length = 0;
    for (const id of ids) {
      const bytes = this.tokenBytes(id);
      if (bytes.length === 0 || (!special && this.isControl(id))) continue;
      pieces.push(bytes);
      length += bytes.length;
    }
    const all = new Uint8Array(length);
    let end = 0;
    for (const bytes of pieces) {
      all.set(bytes, end);
      end += bytes.length;
    }
    const skipped = this.marksTextStart && !keepLeadingSpace && all[0] === SPACE ? 1 : 0;
    return new TextDecoder('utf-8', { ignoreBOM: true }).decode(all.subarray(skipped));
  }

  tokenBytes(id: number): Uint8Array {
    this.#check(id);
    this.#bytes[id] ??= this.#computeBytes(id);
    return this.#bytes[id];
  }

  tokenText(id: number): string {
    this.#check(id);
    return this.#vocabulary.text(id);
  }

  tokenType(id: number): TokenType {
    this.#check(id);
    return tokenTypeName(this.#vocabulary.types[id] as number);
  }

  idOf(tokenText: string): number | undefined {
    return this.#vocabulary.idOf(tokenText);
  }

  isControl(id: number): boolean {
    const type = this.#vocabulary.types[id];
    return type === TOKEN_TYPES.control || type === TOKEN_TYPES.unknown;
  }

  #computeBytes(id: number): Uint8Array {
    if (this.#setup.spellsAllTokens) return this.#setup.subwords.bytesOf(id);
    switch (this.#vocabulary.types[id]) {
      case TOKEN_TYPES.normal:
        return this.#setup.subwords.bytesOf(id);
      case TOKEN_TYPES.byte: {
        const value = byteValue(this.#vocabulary.text(id));
        return value === undefined ? this.#setup.subwords.bytesOf(id) : Uint8Array.of(value);
      }
      case TOKEN_TYPES.control:
      case TOKEN_TYPES.unknown:
      case TOKEN_TYPES.userDefined:
        return this.#vocabulary.bytes(id);
      default:
        return NO_BYTES;
    }
  }

  #check(id: number): void {
    if (!Number.isInteger(id) || id < 0 || id >= this.#vocabulary.size) {
      fail('TOKEN_OUT_OF_RANGE', { id, size: this.#vocabulary.size });
    }
  }
}

import { byteCharacters } from '../byte-alphabet.ts';
import { utf8Bytes } from '../utf8.ts';
import type { Vocabulary } from '../vocabulary.ts';
import { byteTokenIds } from './byte-tokens.ts';
import type { SymbolTable } from './symbol-table.ts';

/** How a byte-pair vocabulary represents text. */
export interface Spelling {
  /** Transforms a piece of text before it is split into words. */
  prepare(text: string): string;
  /** The spelling of the whole word as one token. */
  spell(word: string): string;
  /** Writes the word's initial symbols and returns their number; `symbols` must have room for three per character. */
  toSymbols(word: string, symbols: Int32Array): number;
  /** Appends byte tokens for a symbol that is not a token. */
  fallBack(symbol: number, out: number[]): void;
}

/** Bytes mapped to printable characters, as in GPT-2. */
export class ByteSpelling implements Spelling {
  readonly #table: SymbolTable;
  readonly #symbols: Int32Array;
  readonly #encoder = new TextEncoder();
  #bytes = new Uint8Array(256);

  constructor(table: SymbolTable) {
    this.#table = table;
    this.#symbols = Int32Array.from(byteCharacters(), (character) => table.symbolOf(character));
  }

  prepare(text: string): string {
    return text;
  }

  spell(word: string): string {
    const characters = byteCharacters();
    let spelling = '';
    for (const byte of this.#encoder.encode(word)) spelling += characters[byte];
    return spelling;
  }

  toSymbols(word: string, symbols: Int32Array): number {
    if (this.#bytes.length < word.length * 3) this.#bytes = new Uint8Array(word.length * 3);
    const { written } = this.#encoder.encodeInto(word, this.#bytes);
    for (let i = 0; i < written; i++) symbols[i] = this.#symbols[this.#bytes[i] as number] as number;
    return written;
  }

  fallBack(symbol: number, out: number[]): void {
    for (const character of this.#table.textOf(symbol)) {
      const id = this.#table.symbolOf(character);
      // Like Hugging Face, omits a byte that has no token, whatever the file's unknown token is: StarCoder's is the end
      // of text.
      if (this.#table.isToken(id)) out.push(id);
    }
  }
}

/** Plain characters, with spaces as U+2581 if requested, and `<0xNN>` for characters missing from the vocabulary. */
export class CharacterSpelling implements Spelling {
  readonly #table: SymbolTable;
  readonly #escapesSpaces: boolean;
  readonly #byteIds: Int32Array;

  constructor(
    table: SymbolTable,
    vocabulary: Vocabulary,
    escapesSpaces: boolean,
    unknown: number | undefined,
  ) {
    this.#table = table;
    this.#escapesSpaces = escapesSpaces;
    this.#byteIds = byteTokenIds(vocabulary, unknown);
  }

  prepare(text: string): string {
    return this.#escapesSpaces ? text.replaceAll(' ', '\u2581') : text;
  }

  spell(word: string): string {
    return word;
  }

  toSymbols(word: string, symbols: Int32Array): number {
    let count = 0;
    for (const character of word) symbols[count++] = this.#table.symbolOf(character);
    return count;
  }

  fallBack(symbol: number, out: number[]): void {
    for (const byte of utf8Bytes(this.#table.textOf(symbol))) {
      const id = this.#byteIds[byte] as number;
      if (id >= 0) out.push(id);
    }
  }
}

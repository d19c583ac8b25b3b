import { byteCharacters } from '../byte-alphabet.ts';
import { utf8Bytes } from '../utf8.ts';
import type { Vocabulary } from '../vocabulary.ts';
import { byteTokenIds } from './byte-tokens.ts';
import type { SymbolTable } from './symbol-table.ts';

/** How a byte-pair vocabulary spells text. */
export interface Spelling {
  /** What is done to a stretch of text before it is cut into words. */
  prepare(text: string): string;
  /** The word as a token of its own would be spelled. */
  spell(word: string): string;
  /** Writes the word's first symbols and returns how many; `symbols` has room for three a character. */
  toSymbols(word: string, symbols: Int32Array): number;
  /** Appends the tokens of the bytes of a symbol that is no token. */
  fallBack(symbol: number, out: number[]): void;
}

/** Bytes, each spelled as a printable character, as GPT-2 does. */
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
      // Hugging Face leaves a byte out that has no token, whatever the file calls unknown: StarCoder's ends texts.
      if (this.#table.isToken(id)) out.push(id);
    }
  }
}

/** Plain characters, spaces as U+2581 where asked, and `<0xNN>` for what the vocabulary lacks. */
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

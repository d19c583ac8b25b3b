import type { Vocabulary } from '../vocabulary.ts';

/** Numbers for the strings that occur in merging: token ids, and larger numbers for strings that are not tokens. */
export class SymbolTable {
  readonly #vocabulary: Vocabulary;
  /** A cache of lookups, mostly of single characters. */
  readonly #known = new Map<string, number>();
  readonly #otherTexts: string[] = [];

  constructor(vocabulary: Vocabulary) {
    this.#vocabulary = vocabulary;
  }

  symbolOf(text: string): number {
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const symbol = this.#vocabulary.idOf(text) ?? this.#vocabulary.size + this.#otherTexts.push(text) - 1;
    this.#known.set(text, symbol);
    return symbol;
  }

  textOf(symbol: number): string {
    const size = this.#vocabulary.size;
    return symbol < size ? this.#vocabulary.text(symbol) : (this.#otherTexts[symbol - size] as string);
  }

  /** True when the symbol is a token that plain text may be encoded to. */
  isToken(symbol: number): boolean {
    return symbol < this.#vocabulary.size && this.#vocabulary.isPlain(symbol);
  }
}

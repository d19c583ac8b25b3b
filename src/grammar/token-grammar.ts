import { CompiledGrammar } from './compiled-grammar.ts';
import type { FuelOptions } from './fuel.ts';
import type { Grammar } from './grammar.ts';
import { GrammarMatcher } from './grammar-matcher.ts';
import type { PreparedVocabulary } from './mask/prepared-vocabulary.ts';
import { TokenMasks } from './mask/token-masks.ts';

/** A grammar whose tables have more than this many integers is compiled again for the next text. */
const RENEWED_FROM = 8 * 2 ** 20;

/** A grammar for texts of one vocabulary: what is computed for one text is reused for all others. */
export class TokenGrammar {
  readonly #source: Grammar;
  readonly #vocabulary: PreparedVocabulary;
  readonly #limits: FuelOptions;
  #grammar: CompiledGrammar;
  #masks: TokenMasks;

  /** `limits` bound the compilation. Throws the errors of `CompiledGrammar`. */
  constructor(source: Grammar, vocabulary: PreparedVocabulary, limits: FuelOptions = {}) {
    this.#source = source;
    this.#vocabulary = vocabulary;
    this.#limits = { ...(limits.units === undefined ? {} : { units: limits.units }) };
    this.#grammar = new CompiledGrammar(source, vocabulary, limits);
    this.#masks = new TokenMasks(this.#grammar, vocabulary);
  }

  /** Current size of its tables and masks, in integers. */
  get ints(): number {
    return this.#grammar.ints + this.#masks.ints;
  }

  /** A matcher at the start of a text. */
  matcher(): GrammarMatcher {
    if (this.#grammar.isBroken || this.#grammar.ints > RENEWED_FROM) {
      this.#grammar = new CompiledGrammar(this.#source, this.#vocabulary, this.#limits);
      this.#masks = new TokenMasks(this.#grammar, this.#vocabulary);
    }
    return new GrammarMatcher(this.#grammar, this.#masks, this.#vocabulary);
  }
}

import { Ints } from '../tuple-table.ts';
import { Kind, type Language, UNLIMITED } from './language-kinds.ts';
import type { Languages } from './languages.ts';
import type { Multiples } from './multiples.ts';
import type { WordLists } from './word-lists.ts';

/**
 * The derivative of a language by a byte: the remainders of its texts that begin with the byte (Brzozowski 1964). Each
 * derivative comes with the set of bytes that have the same one, so that callers need not ask for all 256.
 */
export class Derivatives {
  /**
   * The bytes, as eight words of bits, that share the last derivative; set them all before the first of several calls
   * of `derive`.
   */
  readonly bits: Int32Array = new Int32Array(8);
  readonly #languages: Languages;
  readonly #multiples: Multiples;
  readonly #words: WordLists;
  /** By language: the number of the last call that derived it, and the result. */
  readonly #stamps = new Ints(256);
  readonly #results = new Ints(256);
  #stamp = 0;

  constructor(languages: Languages, multiples: Multiples, words: WordLists) {
    this.#languages = languages;
    this.#multiples = multiples;
    this.#words = words;
  }

  /** The derivative by the byte; clears in `bits` the bytes that have another derivative. */
  derive(language: Language, byte: number): Language {
    this.#stamp++;
    return this.#derive(language, byte);
  }

  #derive(language: Language, byte: number): Language {
    const { fuel, sets, empty, never } = this.#languages;
    const kind = this.#languages.kind(language);
    if (kind === Kind.bytes) {
      return sets.narrow(this.#languages.member(language, 1), byte, this.bits) ? empty : never;
    }
    if (kind === Kind.never || kind === Kind.empty || kind === Kind.named) return never;
    if (kind === Kind.words) return this.#words.derive(language, byte, this.bits);
    if (kind === Kind.concat) {
      const head = this.#languages.member(language, 1);
      // A fast path for literals, since a lexer state may hold a thousand.
      if (this.#languages.kind(head) === Kind.bytes) {
        const isIn = sets.narrow(this.#languages.member(head, 1), byte, this.bits);
        return isIn ? this.#languages.member(language, 2) : never;
      }
    }
    if (this.#stampOf(language) === this.#stamp) return this.#results.at(language);
    fuel.spend(1);
    const result = this.#compute(language, byte, kind);
    this.#stampOf(language);
    this.#stamps.array[language] = this.#stamp;
    this.#results.array[language] = result;
    return result;
  }

  #compute(language: Language, byte: number, kind: number): Language {
    const languages = this.#languages;
    switch (kind) {
      case Kind.concat:
        return this.#ofConcat(language, byte);
      case Kind.or:
        return languages.or(languages.partsOf(language, kind).map((part) => this.#derive(part, byte)));
      case Kind.and:
        return this.#ofAnd(language, byte);
      case Kind.not:
        return languages.not(this.#derive(languages.member(language, 1), byte));
      case Kind.repeat: {
        const part = languages.member(language, 1);
        const rest = this.#derive(part, byte);
        if (rest === languages.never) return rest;
        const max = languages.member(language, 3);
        const fewer = max === UNLIMITED ? max : max - 1;
        return languages.concat(
          rest,
          languages.repeat(part, Math.max(0, languages.member(language, 2) - 1), fewer),
        );
      }
      default:
        return this.#multiples.derive(language, byte, this.bits);
    }
  }

  /** Walks along a concatenation while the heads are nullable. */
  #ofConcat(language: Language, byte: number): Language {
    const languages = this.#languages;
    const alternatives: Language[] = [];
    let rest = language;
    while (languages.kind(rest) === Kind.concat) {
      const head = languages.member(rest, 1);
      const tail = languages.member(rest, 2);
      const derived = this.#derive(head, byte);
      if (derived !== languages.never) alternatives.push(languages.concat(derived, tail));
      if (!languages.isNullable(head)) return this.#oneOf(alternatives);
      languages.fuel.spend(1);
      rest = tail;
    }
    alternatives.push(this.#derive(rest, byte));
    return this.#oneOf(alternatives);
  }

  #ofAnd(language: Language, byte: number): Language {
    const languages = this.#languages;
    const derived: Language[] = [];
    for (const part of languages.partsOf(language, Kind.and)) {
      const rest = this.#derive(part, byte);
      if (rest === languages.never) return rest;
      derived.push(rest);
    }
    return languages.and(derived);
  }

  #oneOf(alternatives: readonly Language[]): Language {
    return alternatives.length === 1 ? (alternatives[0] as Language) : this.#languages.or(alternatives);
  }

  #stampOf(language: Language): number {
    while (this.#stamps.length <= language) {
      this.#stamps.push(0);
      this.#results.push(0);
    }
    return this.#stamps.at(language);
  }
}

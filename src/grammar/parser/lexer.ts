import { bytesIn } from '../regex/byte-sets.ts';
import { Kind, type Language } from '../regex/language-kinds.ts';
import type { Languages } from '../regex/languages.ts';
import type { RegularLanguages } from '../regex/regular-languages.ts';
import { Ints, TupleTable } from '../tuple-table.ts';
import { TransitionRows, UNKNOWN } from './transition-rows.ts';

/** An unfinished terminal: the derivative of its language, and its slot, the language's number at the start. */
export interface LexerPair {
  readonly slot: number;
  readonly language: Language;
}

/** In place of a word's number for terminals that are not word lists. */
export const NO_WORD = -1;
/** The state in which no terminal can match. */
export const DEAD = -1;

/**
 * Matches all terminals that a row of the parser expects in parallel: a state is the set of their derivatives, each
 * with the slot of its terminal, and states and transitions are created lazily. No terminal has priority: a state says
 * which may end and which can continue. States are independent of rows, so rows that expect the same languages share
 * them.
 */
export class Lexer {
  readonly #regular: RegularLanguages;
  /** States: [slot, language] pairs in ascending order; a slot is the language's number at the start. */
  readonly #states = new TupleTable();
  /** Sets of terminals that end together: [slot, word number] pairs; 0 is the empty set. */
  readonly #endings = new TupleTable();
  readonly #endingOf = new Ints();
  readonly #canContinue = new Ints();
  readonly #rows = new TransitionRows();
  readonly #parts = new Map<number, readonly number[]>();
  /** The pairs of the state under construction. */
  readonly #pairs = new Ints();

  constructor(regular: RegularLanguages) {
    this.#regular = regular;
    this.#endings.intern([]);
  }

  /** The state before the first byte; slots must ascend. `DEAD` for no pairs. */
  start(pairs: readonly LexerPair[]): number {
    const flat = pairs.flatMap(({ slot, language }) => [slot, language]);
    return this.#state(flat, flat.length);
  }

  /** The pairs of a state. */
  pairsOf(state: number): LexerPair[] {
    const start = this.#states.start(state);
    return Array.from({ length: this.#states.lengthOf(state) / 2 }, (_, i) => ({
      slot: this.#states.values.at(start + i * 2),
      language: this.#states.values.at(start + i * 2 + 1),
    }));
  }

  /** The state after a byte, or `DEAD`. */
  step(state: number, byte: number): number {
    const known = this.#rows.get(state, byte);
    return known === UNKNOWN ? this.#compute(state, byte) : known;
  }

  /** The set of terminals that may end here; 0 for none. */
  ending(state: number): number {
    return this.#endingOf.at(state);
  }

  /** The members of a set of ended terminals, flat: a slot, then the number of the matched word or `NO_WORD`. */
  endsOf(ending: number): Int32Array {
    const start = this.#endings.start(ending);
    return this.#endings.values.array.subarray(start, start + this.#endings.lengthOf(ending));
  }

  /** True when some terminal can continue. */
  canContinue(state: number): boolean {
    return this.#canContinue.at(state) === 1;
  }

  /**
   * States whose union is this one: word lists apart from everything else, because a long list changes with every word
   * while the other terminals stay the same.
   */
  partsOf(state: number): readonly number[] {
    let parts = this.#parts.get(state);
    if (!parts) {
      const { languages } = this.#regular;
      const isWords = ({ language }: LexerPair): boolean => languages.kind(language) === Kind.words;
      const pairs = this.pairsOf(state);
      const words = pairs.filter(isWords);
      const isMixed = words.length > 0 && words.length < pairs.length;
      parts = isMixed ? [this.start(pairs.filter((pair) => !isWords(pair))), this.start(words)] : [state];
      this.#parts.set(state, parts);
    }
    return parts;
  }

  /** The state without its complements: what it would be if nothing were excluded. */
  withoutComplements(state: number): number {
    const { languages } = this.#regular;
    const pairs = this.pairsOf(state);
    const plain = pairs.map(({ slot, language }) => ({
      slot,
      language: withoutComplements(languages, language),
    }));
    return plain.every(({ language }, i) => language === pairs[i]?.language) ? state : this.start(plain);
  }

  #compute(state: number, byte: number): number {
    const { derivatives, languages, liveness } = this.#regular;
    derivatives.bits.fill(-1);
    const pairs = this.#pairs;
    pairs.length = 0;
    const start = this.#states.start(state);
    const length = this.#states.lengthOf(state);
    if (length === 2 && languages.kind(this.#states.at(state, 1)) === Kind.words) {
      this.#branch(state, this.#states.at(state, 0), this.#states.at(state, 1));
      return this.#rows.get(state, byte);
    }
    languages.fuel.spend(1 + (length >> 3));
    for (let i = start; i < start + length; i += 2) {
      const language = derivatives.derive(this.#states.values.at(i + 1), byte);
      if (language === languages.never) continue;
      pairs.push(this.#states.values.at(i));
      pairs.push(language);
    }
    // Copied first: the liveness check computes other derivatives, which overwrite the bits.
    const alike = bytesIn(derivatives.bits);
    let live = 0;
    for (let i = 0; i < pairs.length; i += 2) {
      if (!liveness.isLive(pairs.at(i + 1))) continue;
      pairs.array[live++] = pairs.at(i);
      pairs.array[live++] = pairs.at(i + 1);
    }
    const next = this.#state(pairs.array, live);
    for (const same of alike) this.#rows.set(state, same, next);
    return next;
  }

  /** For a state of one word list: computes the transitions for all bytes at once, because masks need all of them. */
  #branch(state: number, slot: number, words: Language): void {
    const { bytes, behind } = this.#regular.words.branchesOf(words);
    this.#rows.fill(state, DEAD);
    for (const [at, byte] of bytes.entries()) {
      this.#rows.set(state, byte, this.#state([slot, behind[at] as Language], 2));
    }
  }

  #state(pairs: ArrayLike<number>, length: number): number {
    if (length === 0) return DEAD;
    const before = this.#states.size;
    const state = this.#states.intern(pairs, length);
    if (state !== before) return state;
    const { languages } = this.#regular;
    const ending: number[] = [];
    let canContinue = false;
    for (let i = 0; i < length; i += 2) {
      const language = pairs[i + 1] as Language;
      if (languages.isNullable(language)) {
        const isWord = languages.kind(language) === Kind.named;
        ending.push(pairs[i] as number, isWord ? languages.member(language, 1) : NO_WORD);
      }
      canContinue ||= this.#regular.liveness.canContinue(language);
    }
    this.#endingOf.push(this.#endings.intern(ending));
    this.#canContinue.push(canContinue ? 1 : 0);
    languages.fuel.spend(1 + (length >> 3));
    return state;
  }
}

/** Removes the complements from the intersections at the start of a language; the result is a superset of it. */
function withoutComplements(languages: Languages, language: Language): Language {
  const kind = languages.kind(language);
  if (kind === Kind.concat) {
    const head = withoutComplements(languages, languages.member(language, 1));
    return languages.concat(head, languages.member(language, 2));
  }
  const parts = languages.partsOf(language, kind);
  if (kind === Kind.or) return languages.or(parts.map((part) => withoutComplements(languages, part)));
  if (kind !== Kind.and) return language;
  return languages.and(parts.filter((part) => languages.kind(part) !== Kind.not));
}

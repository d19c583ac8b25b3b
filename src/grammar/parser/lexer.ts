import { bytesIn } from '../regex/byte-sets.ts';
import { Kind, type Language } from '../regex/language-kinds.ts';
import type { Languages } from '../regex/languages.ts';
import type { RegularLanguages } from '../regex/regular-languages.ts';
import { Ints, TupleTable } from '../tuple-table.ts';
import { TransitionRows, UNKNOWN } from './transition-rows.ts';

/** A terminal under way: what it may go on with, and its number at the start. */
export interface LexerPair {
  readonly slot: number;
  readonly language: Language;
}

/** Stands for the number of a word where a terminal ends that is no list of texts. */
export const NO_WORD = -1;
/** Where no terminal can match any more. */
export const DEAD = -1;

/**
 * All terminals that a row of the parser waits for, matched side by side: a state is the set of their derivatives, each with the
 * slot that its terminal has at the start, and states and their transitions are made when they are first asked for. No
 * terminal wins over another: a state tells which of them may end, and which can go on. States know nothing of rows, so that rows
 * which wait for the same languages share them.
 */
export class Lexer {
  readonly #regular: RegularLanguages;
  /** States: [slot, language] pairs, ascending; a slot is a language's number at the start. */
  readonly #states = new TupleTable();
  /** What ends together: [slot, number of the word] pairs; the empty set is 0. */
  readonly #endings = new TupleTable();
  readonly #endingOf = new Ints();
  readonly #goesOn = new Ints();
  readonly #rows = new TransitionRows();
  readonly #parts = new Map<number, readonly number[]>();
  /** The state that is being worked out. */
  readonly #pairs = new Ints();

  constructor(regular: RegularLanguages) {
    this.#regular = regular;
    this.#endings.intern([]);
  }

  /** The state before the first byte, with slots ascending; `DEAD` for none. */
  start(pairs: readonly LexerPair[]): number {
    const flat = pairs.flatMap(({ slot, language }) => [slot, language]);
    return this.#state(flat, flat.length);
  }

  /** What a state consists of. */
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

  /** What may end here, as a set; 0 for none. */
  ending(state: number): number {
    return this.#endingOf.at(state);
  }

  /** What ends: a slot and the number of the word that was read, or `NO_WORD`, one after another. */
  endsOf(ending: number): Int32Array {
    const start = this.#endings.start(ending);
    return this.#endings.values.array.subarray(start, start + this.#endings.lengthOf(ending));
  }

  /** True when a terminal has a longer text than the one so far. */
  goesOn(state: number): boolean {
    return this.#goesOn.at(state) === 1;
  }

  /**
   * States that match together what this one does: lists of words apart from all else, because of a long list another part is left
   * after every word, and what stands beside it stays.
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

  /** The state without the complements in it: what it would be if nothing were forbidden. */
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
    // To find out what is live takes derivatives of other languages.
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

  /** Where a list of words alone goes by each byte: all at once, as masks ask for all of them. */
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
    let goesOn = false;
    for (let i = 0; i < length; i += 2) {
      const language = pairs[i + 1] as Language;
      if (languages.isNullable(language)) {
        const isWord = languages.kind(language) === Kind.named;
        ending.push(pairs[i] as number, isWord ? languages.member(language, 1) : NO_WORD);
      }
      goesOn ||= this.#regular.liveness.canGoOn(language);
    }
    this.#endingOf.push(this.#endings.intern(ending));
    this.#goesOn.push(goesOn ? 1 : 0);
    languages.fuel.spend(1 + (length >> 3));
    return state;
  }
}

/** A language without the complements in the intersections with which it begins: it has all its texts, and maybe others. */
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

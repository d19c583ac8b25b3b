import type { ByteSets } from './byte-sets.ts';

/** The id of a language in a `Languages` table: equal ids mean equal languages (the converse does not always hold). */
export type Language = number;

/** The operator of a language; the comments name the rest of its tuple. */
export const Kind = {
  /** No text. */
  never: 0,
  /** The empty text. */
  empty: 1,
  /** One byte of a set: [set]. */
  bytes: 2,
  /** [head, tail]; the head is no concatenation. */
  concat: 3,
  /** [alternatives, ascending]. */
  or: 4,
  /** [parts, ascending]. */
  and: 5,
  /** Every byte string outside the part: [part]. */
  not: 6,
  /** [part, min, max]; max is `UNLIMITED` when unbounded. */
  repeat: 7,
  /** A numeral that is a multiple: [definition, digits seen, remainder, accepts]; see `multiples.ts`. */
  multiple: 8,
  /**
   * Words of a list: [list, first, one past the last, bytes before, least number, greatest, accepts, count]; see
   * `word-lists.ts`.
   */
  words: 9,
  /** The empty text after the word of a list with this number: [number]. */
  named: 10,
} as const;

/** As the maximum of a `repeat`: unbounded, since no text is that long. */
export const UNLIMITED = 2 ** 31 - 1;

/** The part of `Languages` that simplification needs. */
export interface LanguageMaker {
  readonly sets: ByteSets;
  readonly empty: Language;
  kind(language: Language): number;
  /** An element of a language's tuple. */
  member(language: Language, index: number): number;
  isNullable(language: Language): boolean;
  /** One byte of the set. */
  bytes(set: number): Language;
  concat(head: Language, tail: Language): Language;
  repeat(part: Language, min: number, max: number): Language;
}

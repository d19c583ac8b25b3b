import type { ByteSets } from './byte-sets.ts';

/** The id of a language of a `Languages` table: equal ids are equal languages (not always the other way round). */
export type Language = number;

/** How a language is made; the members of its tuple after this number are named beside it. */
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
  /** Every string of bytes that is not in the part: [part]. */
  not: 6,
  /** [part, min, max]; max is `UNLIMITED` for none. */
  repeat: 7,
  /** A numeral that is a multiple: [definition, digits seen, remainder, accepts]; `multiples.ts` knows. */
  multiple: 8,
  /** Words of a list: [list, first, one past the last, bytes before, least number, greatest, accepts, count]; `word-lists.ts` knows. */
  words: 9,
  /** The empty text, after the word of a list that has this number: [number]. */
  named: 10,
} as const;

/** The greatest count of a `repeat` stands for none: no text is that long. */
export const UNLIMITED = 2 ** 31 - 1;

/** What simplification needs of the table that it works for. */
export interface LanguageMaker {
  readonly sets: ByteSets;
  readonly empty: Language;
  kind(language: Language): number;
  /** A member of a language's tuple. */
  member(language: Language, index: number): number;
  isNullable(language: Language): boolean;
  /** One byte of the set. */
  bytes(set: number): Language;
  concat(head: Language, tail: Language): Language;
  repeat(part: Language, min: number, max: number): Language;
}

import type { Language } from '../regex/language-kinds.ts';
import type { MemberTable } from './member-table.ts';

/** What stands in a production: a terminal's number times two, or a nonterminal's times two and one. */
export type Symbol = number;

/** After the last symbol of a production. */
export const END = -1;
/** The least count at a place of an ordinary production, which is no repetition. */
export const ONCE = -1;
/** The least count at a place before the texts of members, whose items count in states. */
export const TEXTS = -2;
/** The same before the separator after a member. */
export const SEPARATOR = -3;
/** The same before a member's value, or a member that has no text. */
export const MEMBER = -4;

/** A terminal: a regular language, or a special token of the vocabulary. */
export type Terminal =
  | { readonly kind: 'regex' | 'distinct'; readonly language: Language }
  /** The texts of members: which of them may come depends on the item. */
  | { readonly kind: 'texts'; readonly list: number }
  | { readonly kind: 'token'; readonly id: number }
  /** Any token that stands for text but these. */
  | { readonly kind: 'any-token'; readonly except: ReadonlySet<number> };

/** What a grammar may ask of a vocabulary. */
export interface TokenNames {
  readonly size: number;
  /** The special token that is spelled so. */
  specialToken(text: string): number | undefined;
}

/** The names of no vocabulary: special tokens stand for their texts. */
export const NO_TOKENS: TokenNames = { size: 0, specialToken: () => undefined };

/** A nonterminal as the parser needs it. */
export interface Nonterminal {
  /** Where its productions begin in `places`; none where nothing matches. To ask may make them, and the tables longer. */
  readonly starts: readonly number[];
  readonly isNullable: boolean;
  /** True when the texts of its `distinct` terminals count in the scope around it. */
  readonly touchesMemory: boolean;
  /** True when what it holds has a memory of its own. */
  readonly isScope: boolean;
}

/**
 * A grammar as tables, which grow where a part is made later. A place is a dot in a production: `symbols[place]` stands after it and `place + 1` is the next one. A
 * repetition has one place, whose items count up to `max` instead of moving on. Members have one before each value, and three more.
 */
export interface RuleTables {
  readonly terminals: readonly Terminal[];
  readonly nonterminals: readonly Nonterminal[];
  readonly symbols: readonly Symbol[];
  /** Counts of the repetition at a place; for none `ONCE` or what members have there. */
  readonly min: readonly number[];
  readonly max: readonly number[];
  /** The members to which a place belongs. */
  readonly members: readonly (MemberTable | undefined)[];
  /** The place before the root. */
  readonly start: number;
}

/** True for a terminal. */
export function isTerminal(symbol: Symbol): boolean {
  return (symbol & 1) === 0;
}

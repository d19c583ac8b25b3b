import type { Language } from '../regex/language-kinds.ts';
import type { MemberTable } from './member-table.ts';

/** A symbol of a production: twice a terminal's number, or twice a nonterminal's number plus one. */
export type Symbol = number;

/** Follows the last symbol of a production. */
export const END = -1;
/** As the minimum count of a place: an ordinary production, not a repetition. */
export const ONCE = -1;
/** As the minimum count of a place: before the names of members, whose items count in states. */
export const TEXTS = -2;
/** The same before the separator after a member. */
export const SEPARATOR = -3;
/** The same before a member's value, or a member that has no text. */
export const MEMBER = -4;

/** A terminal: a regular language, or a special token of the vocabulary. */
export type Terminal =
  | { readonly kind: 'regex' | 'distinct'; readonly language: Language }
  /** The names of listed members; the item decides which of them are allowed. */
  | { readonly kind: 'texts'; readonly list: number }
  | { readonly kind: 'token'; readonly id: number }
  /** Any token that stands for text except these. */
  | { readonly kind: 'any-token'; readonly except: ReadonlySet<number> };

/** What a grammar needs to know about a vocabulary. */
export interface TokenNames {
  readonly size: number;
  /** The special token with this spelling. */
  specialToken(text: string): number | undefined;
}

/** In place of a vocabulary: special tokens stand for their texts. */
export const NO_TOKENS: TokenNames = { size: 0, specialToken: () => undefined };

/** A nonterminal as the parser needs it. */
export interface Nonterminal {
  /**
   * Where its productions begin in `places`; empty when it matches nothing. Reading it may build the productions, which
   * extends the tables.
   */
  readonly starts: readonly number[];
  readonly isNullable: boolean;
  /** True when texts of its `distinct` terminals belong to the scope around it. */
  readonly touchesMemory: boolean;
  /** True when it has a memory of its own. */
  readonly isScope: boolean;
}

/**
 * A grammar as tables, which grow when a part is built later. A place is a dot in a production: `symbols[place]` is the
 * symbol after it and `place + 1` the next place. A repetition has one place, whose items count up to `max` instead of
 * advancing. Members have one place before each value, and three more.
 */
export interface RuleTables {
  readonly terminals: readonly Terminal[];
  readonly nonterminals: readonly Nonterminal[];
  readonly symbols: readonly Symbol[];
  /** The counts of the repetition at a place; otherwise `ONCE`, or one of the members' constants. */
  readonly min: readonly number[];
  readonly max: readonly number[];
  /** The member table that a place belongs to. */
  readonly members: readonly (MemberTable | undefined)[];
  /** The place before the root. */
  readonly start: number;
}

/** True for a terminal. */
export function isTerminal(symbol: Symbol): boolean {
  return (symbol & 1) === 0;
}

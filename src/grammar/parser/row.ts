import type { Nonterminal, RuleTables, Terminal } from './rule-tables.ts';

/** The frame of the root: where it completes, a text may end. */
export const ROOT_FRAME = 0;

/** What an item's tuple holds, by index. */
export const Item = { place: 0, count: 1, frame: 2, memory: 3 } as const;

/** A set of items with all that follows from it. */
export interface Row {
  /** True when the text may end here. */
  readonly canEnd: boolean;
  /** The lexer's state before the next terminal, or `DEAD`. */
  readonly lexer: number;
  /** Items that wait for a terminal, by its slot in the lexer. */
  readonly terminals: readonly (readonly number[])[];
  /** Items that wait for a special token, by its id. */
  readonly tokens: ReadonlyMap<number, readonly number[]>;
  /** Items that wait for any token but some. */
  readonly anyTokens: readonly number[];
  /** Items that wait for a nonterminal, by the frame in which it was predicted. */
  readonly waiting: ReadonlyMap<number, readonly number[]>;
  /** True when it waits for a `distinct` terminal: then it matters where the row stands in the text. */
  readonly hasDistinct: boolean;
  /** True when it waits for the same `distinct` terminal with several memories. */
  readonly isAmbiguous: boolean;
}

/** What working out a row needs of the table of rows. */
export interface RowMaker {
  readonly tables: RuleTables;
  at(row: number): Row;
  /** A member of an item's tuple. */
  item(item: number, member: number): number;
  /** The item after the symbol that one waits for. */
  advanced(item: number, memory: number): number;
  /** The same at another place. */
  moved(item: number, place: number): number;
  /** The item before the first symbol of a production. */
  started(place: number, frame: number, memory: number): number;
  frame(nonterminal: number, row: number, memory: number): number;
  frameMember(frame: number, member: number): number;
  nonterminal(number: number): Nonterminal;
  /** True when a terminal may match nothing. */
  isNullable(terminal: Terminal): boolean;
  /** True once for each item and row. */
  isNewIn(row: number, item: number): boolean;
  waitingForText(items: readonly number[]): Pick<Row, 'lexer' | 'terminals' | 'isAmbiguous'>;
}

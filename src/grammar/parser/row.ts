import type { Nonterminal, RuleTables, Terminal } from './rule-tables.ts';

/** The frame of the root: where it completes, the text may end. */
export const ROOT_FRAME = 0;

/** The layout of an item's tuple. */
export const Item = { place: 0, count: 1, frame: 2, memory: 3 } as const;

/** A set of items with its closure. */
export interface Row {
  /** True when the text may end here. */
  readonly canEnd: boolean;
  /** The lexer's state before the next terminal, or `DEAD`. */
  readonly lexer: number;
  /** Items that expect a terminal, by the terminal's slot in the lexer. */
  readonly terminals: readonly (readonly number[])[];
  /** Items that expect a special token, by its id. */
  readonly tokens: ReadonlyMap<number, readonly number[]>;
  /** Items that expect any token except some. */
  readonly anyTokens: readonly number[];
  /** Items that expect a nonterminal, by the frame in which it was predicted. */
  readonly waiting: ReadonlyMap<number, readonly number[]>;
  /** True when it expects a `distinct` terminal: then the row's position in the text matters. */
  readonly hasDistinct: boolean;
  /** True when it expects the same `distinct` terminal with several memories. */
  readonly isAmbiguous: boolean;
}

/** The part of the table of rows that computing a row needs. */
export interface RowMaker {
  readonly tables: RuleTables;
  at(row: number): Row;
  /** An element of an item's tuple. */
  item(item: number, member: number): number;
  /** The item advanced over the symbol that it expects. */
  advanced(item: number, memory: number): number;
  /** The same item at another place. */
  moved(item: number, place: number): number;
  /** The item before a production's first symbol. */
  started(place: number, frame: number, memory: number): number;
  frame(nonterminal: number, row: number, memory: number): number;
  frameMember(frame: number, member: number): number;
  nonterminal(number: number): Nonterminal;
  /** True when a terminal matches the empty text. */
  isNullable(terminal: Terminal): boolean;
  /** True for the first call with this row and item. */
  isNewIn(row: number, item: number): boolean;
  waitingForText(items: readonly number[]): Pick<Row, 'lexer' | 'terminals' | 'isAmbiguous'>;
}

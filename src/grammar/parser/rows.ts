import type { RegularLanguages } from '../regex/regular-languages.ts';
import { Ints, TupleTable } from '../tuple-table.ts';
import type { Language } from '../regex/language-kinds.ts';
import { DEAD, Lexer } from './lexer.ts';
import { Memories, NO_MEMORY } from './memories.ts';
import { END, isTerminal, type Nonterminal, ONCE, type RuleTables, type Terminal } from './rule-tables.ts';

/** The frame of the root: where it completes, a text may end. */
const ROOT_FRAME = 0;
const MOST_INTS = 24 * 2 ** 20;

/** What an item's tuple holds, in this order. */
const PLACE = 0;
const COUNT = 1;
const FRAME = 2;
const MEMORY = 3;

/** A set of items with all that follows from it. */
export interface Row {
  /** True when the text may end here. */
  readonly canEnd: boolean;
  /** The lexer's state before the next terminal, or `DEAD`. */
  readonly lexer: number;
  /** Items that wait for a terminal, by the slot that its language has in the lexer. */
  readonly terminals: readonly (readonly number[])[];
  /** Items that wait for a special token, by its id. */
  readonly tokens: ReadonlyMap<number, readonly number[]>;
  /** Items that wait for any token but some. */
  readonly anyTokens: readonly number[];
  /** Items that wait for a nonterminal, by the frame in which it was predicted. */
  readonly waiting: ReadonlyMap<number, readonly number[]>;
  /** True when it waits for a `distinct` terminal: then it matters where the row stands in the text. */
  readonly hasDistinct: boolean;
}

/**
 * The rows of an Earley parser (Earley 1970), each kept once. An item says what completes it returns to by a frame: a nonterminal and
 * the row that predicted it. Rows name each other by what they hold and not by where they stand in the text, so that equal
 * situations, the tenth item of an array as the third, are the same row and share all that was found out about it. Nullable
 * nonterminals are stepped over when they are predicted (Aycock and Horspool 2002). What is predicted in the last place of a
 * production returns to where that production returns to, so that right recursion costs no chain of completions (as Leo 1991
 * has it) and leaves equal rows.
 */
export class Rows {
  readonly lexer: Lexer;
  readonly #regular: RegularLanguages;
  readonly #tables: RuleTables;
  readonly #memories: Memories;
  /** Kernels: items, ascending. */
  readonly #kernels = new TupleTable();
  readonly #rows: Row[] = [];
  /** [place, count, frame, memory]. */
  readonly #items = new TupleTable();
  /** [nonterminal, row, memory]. */
  readonly #frames = new TupleTable();
  /** By row and ending of its lexer, the row behind, without what `distinct` terminals add to memories. */
  readonly #behind = new Map<number, number>();
  readonly #stamps = new Ints();
  /** Items of all closures. */
  #waiting = 0;
  /** The row that stands before every text. */
  readonly first: number;

  constructor(regular: RegularLanguages, tables: RuleTables) {
    this.#regular = regular;
    this.#tables = tables;
    this.#memories = new Memories(regular);
    this.lexer = new Lexer(regular);
    this.#frames.intern([]);
    this.first = this.row([this.#items.intern([tables.start, 0, ROOT_FRAME, NO_MEMORY])]);
  }

  at(row: number): Row {
    return this.#rows[row] as Row;
  }

  /** The row of a kernel: items that come from behind terminals; the array is sorted in place. */
  row(kernel: number[]): number {
    const sorted = kernel.sort((a, b) => a - b).filter((item, i) => item !== kernel[i - 1]);
    const before = this.#kernels.size;
    const row = this.#kernels.intern(sorted);
    if (row === before) {
      const closure = new Closure(this, row);
      this.#rows.push(closure.of(sorted));
      this.#waiting += closure.size;
      this.#checkSize();
    }
    return row;
  }

  /** The row of what stands in either of two. */
  joined(a: number, b: number): number {
    const items = [a, b].flatMap((row) => {
      const start = this.#kernels.start(row);
      return Array.from(this.#kernels.values.array.subarray(start, start + this.#kernels.lengthOf(row)));
    });
    return this.row(items);
  }

  /** True when nothing can come after a row, and the text cannot end in it. */
  isDead(row: number): boolean {
    const { canEnd, lexer, tokens, anyTokens } = this.at(row);
    return !canEnd && lexer === DEAD && tokens.size === 0 && anyTokens.length === 0;
  }

  /** Adds the items behind the terminals that end; `text` is what they matched, memories stay as they are without it. */
  scan(row: number, ending: number, text: (() => Uint8Array) | undefined, kernel: number[]): void {
    const { terminals } = this.at(row);
    for (const slot of this.lexer.slotsOf(ending)) {
      for (const item of terminals[slot] ?? []) {
        const memory = this.item(item, MEMORY);
        const next = text && this.#isDistinct(item) ? this.#memories.with(memory, text()) : memory;
        kernel.push(this.advanced(item, next));
      }
    }
  }

  /** The row behind the terminals that end, with memories as they were: right where nothing `distinct` follows. */
  behind(row: number, ending: number): number {
    const key = row * 2 ** 26 + ending;
    let behind = this.#behind.get(key);
    if (behind === undefined) {
      const kernel: number[] = [];
      this.scan(row, ending, undefined, kernel);
      behind = this.row(kernel);
      this.#behind.set(key, behind);
    }
    return behind;
  }

  /** True when a `distinct` terminal is among those that end. */
  endsDistinct(row: number, ending: number): boolean {
    if (!this.at(row).hasDistinct) return false;
    const { terminals } = this.at(row);
    return this.lexer
      .slotsOf(ending)
      .some((slot) => (terminals[slot] ?? []).some((item) => this.#isDistinct(item)));
  }

  /** True when a row has a future in which no `distinct` terminal comes next. */
  isAliveWithoutDistinct(row: number): boolean {
    const { canEnd, tokens, terminals } = this.at(row);
    return (
      canEnd || tokens.size > 0 || terminals.some((items) => items.some((item) => !this.#isDistinct(item)))
    );
  }

  /** Adds the items behind a token as such; `isText` says that it stands for text. */
  scanToken(row: number, id: number, isText: boolean, kernel: number[]): void {
    const { tokens, anyTokens } = this.at(row);
    const any = isText ? anyTokens.filter((item) => !this.exceptions(item).has(id)) : [];
    for (const item of [...(tokens.get(id) ?? []), ...any]) {
      kernel.push(this.advanced(item, this.item(item, MEMORY)));
    }
  }

  /** The tokens that an item does not take which waits for any other. */
  exceptions(item: number): ReadonlySet<number> {
    const terminal = this.#terminalAt(item);
    return terminal.kind === 'any-token' ? terminal.except : new Set();
  }

  /** True when a terminal may match nothing. */
  isNullable(terminal: Terminal): boolean {
    return terminal.kind === 'regex' && this.#regular.languages.isNullable(terminal.language);
  }

  item(item: number, member: number): number {
    return this.#items.at(item, member);
  }

  /** The item behind the symbol that one waits for. */
  advanced(item: number, memory: number): number {
    const place = this.item(item, PLACE);
    const frame = this.item(item, FRAME);
    const min = this.#tables.min[place] as number;
    if (min === ONCE) return this.#items.intern([place + 1, 0, frame, memory]);
    // Beyond the least count of an unlimited repetition there is nothing to count.
    const count = this.item(item, COUNT) + 1;
    const counted = this.#tables.max[place] === Infinity ? Math.min(count, min) : count;
    return this.#items.intern([place, counted, frame, memory]);
  }

  started(place: number, frame: number, memory: number): number {
    return this.#items.intern([place, 0, frame, memory]);
  }

  frame(nonterminal: number, row: number, memory: number): number {
    return this.#frames.intern([nonterminal, row, memory]);
  }

  frameMember(frame: number, member: number): number {
    return this.#frames.at(frame, member);
  }

  nonterminal(number: number): Nonterminal {
    return this.#tables.nonterminals[number] as Nonterminal;
  }

  get tables(): RuleTables {
    return this.#tables;
  }

  /** The lexer's state before the terminals that items wait for, and these by their slots. */
  waitingForText(items: readonly number[]): Pick<Row, 'lexer' | 'terminals'> {
    const byLanguage = new Map<Language, number[]>();
    for (const item of items) {
      const terminal = this.#terminalAt(item);
      if (!('language' in terminal)) continue;
      const isDistinct = terminal.kind === 'distinct';
      const language = isDistinct
        ? this.#memories.unmatched(terminal.language, this.item(item, MEMORY))
        : terminal.language;
      push(byLanguage, language, item);
    }
    const live = [...byLanguage.keys()].filter((language) => this.#regular.liveness.canGoOn(language));
    live.sort((a, b) => a - b);
    return {
      lexer: this.lexer.start(live),
      terminals: live.map((language) => byLanguage.get(language) as number[]),
    };
  }

  /** True once for each item and row. */
  isNewIn(row: number, item: number): boolean {
    while (this.#stamps.length <= item) this.#stamps.push(-1);
    if (this.#stamps.at(item) === row) return false;
    this.#stamps.array[item] = row;
    this.#regular.languages.fuel.spend(1);
    return true;
  }

  #isDistinct(item: number): boolean {
    return this.#terminalAt(item).kind === 'distinct';
  }

  /** The terminal that an item waits for. */
  #terminalAt(item: number): Terminal {
    const symbol = this.#tables.symbols[this.item(item, PLACE)] as number;
    return this.#tables.terminals[symbol >> 1] as Terminal;
  }

  /** How many integers the tables hold, about. */
  get ints(): number {
    return (
      this.#items.values.length + this.#kernels.values.length + this.#frames.values.length + this.#waiting
    );
  }

  #checkSize(): void {
    if (this.ints > MOST_INTS)
      this.#regular.languages.fuel.refuse('its parser grows beyond the memory that grammars may take');
  }
}

/** Works out what follows from a kernel. */
class Closure {
  readonly #rows: Rows;
  readonly #row: number;
  readonly #agenda: number[] = [];
  readonly #terminals: number[] = [];
  readonly #tokens = new Map<number, number[]>();
  readonly #anyTokens: number[] = [];
  readonly #waiting = new Map<number, number[]>();
  readonly #completed = new Set<number>();
  #canEnd = false;
  #hasDistinct = false;

  constructor(rows: Rows, row: number) {
    this.#rows = rows;
    this.#row = row;
  }

  /** How many items it has. */
  get size(): number {
    return this.#agenda.length;
  }

  of(kernel: readonly number[]): Row {
    for (const item of kernel) this.#add(item);
    // Grows while it is walked through.
    for (const item of this.#agenda) this.#take(item);
    return {
      canEnd: this.#canEnd,
      ...this.#rows.waitingForText(this.#terminals),
      tokens: this.#tokens,
      anyTokens: this.#anyTokens,
      waiting: this.#waiting,
      hasDistinct: this.#hasDistinct,
    };
  }

  #add(item: number): void {
    if (this.#rows.isNewIn(this.#row, item)) this.#agenda.push(item);
  }

  #take(item: number): void {
    const { symbols, min, max } = this.#rows.tables;
    const place = this.#rows.item(item, PLACE);
    const least = min[place] as number;
    if (least === ONCE) {
      const symbol = symbols[place] as number;
      if (symbol === END) this.#complete(item);
      else this.#await(item, symbol, symbols[place + 1] === END);
      return;
    }
    const count = this.#rows.item(item, COUNT);
    const most = max[place] as number;
    if (count >= least) this.#complete(item);
    if (count < most) this.#await(item, symbols[place] as number, count + 1 === most);
  }

  #await(item: number, symbol: number, isLast: boolean): void {
    if (isTerminal(symbol)) return this.#awaitTerminal(item, symbol >> 1);
    const { starts, isNullable, isScope, touchesMemory } = this.#rows.nonterminal(symbol >> 1);
    const memory = this.#rows.item(item, MEMORY);
    const own = this.#rows.item(item, FRAME);
    if (isNullable && this.#rows.tables.min[this.#rows.item(item, PLACE)] === ONCE) {
      this.#add(this.#rows.advanced(item, memory));
    }
    const inner = isScope ? NO_MEMORY : memory;
    // A scope forgets its memory at its end, so that it may return to where nobody asks for one only.
    if (isLast && (!isScope || !this.#touchesMemory(own))) {
      for (const start of starts) this.#add(this.#rows.started(start, own, inner));
      return;
    }
    const before = touchesMemory ? memory : NO_MEMORY;
    const frame = this.#rows.frame(symbol >> 1, this.#row, before);
    const waiting = this.#waiting.get(frame);
    if (waiting) {
      waiting.push(item);
      return;
    }
    this.#waiting.set(frame, [item]);
    for (const start of starts) this.#add(this.#rows.started(start, frame, before));
  }

  #awaitTerminal(item: number, number: number): void {
    const terminal = this.#rows.tables.terminals[number] as Terminal;
    if (terminal.kind === 'token') {
      push(this.#tokens, terminal.id, item);
      return;
    }
    if (terminal.kind === 'any-token') {
      this.#anyTokens.push(item);
      return;
    }
    this.#hasDistinct ||= terminal.kind === 'distinct';
    const isNullable = this.#rows.isNullable(terminal);
    if (isNullable && this.#rows.tables.min[this.#rows.item(item, PLACE)] === ONCE) {
      this.#add(this.#rows.advanced(item, this.#rows.item(item, MEMORY)));
    }
    this.#terminals.push(item);
  }

  #complete(item: number): void {
    const frame = this.#rows.item(item, FRAME);
    if (frame === ROOT_FRAME) {
      this.#canEnd = true;
      return;
    }
    const touchesMemory = this.#touchesMemory(frame);
    const memory = touchesMemory ? this.#rows.item(item, MEMORY) : NO_MEMORY;
    const key = frame * 2 ** 26 + memory;
    const row = this.#rows.frameMember(frame, 1);
    // Within one row only what is nullable completes, and that was stepped over.
    if (row === this.#row || this.#completed.has(key)) return;
    this.#completed.add(key);
    for (const waiting of this.#rows.at(row).waiting.get(frame) ?? []) {
      this.#add(this.#rows.advanced(waiting, touchesMemory ? memory : this.#rows.item(waiting, MEMORY)));
    }
  }

  #touchesMemory(frame: number): boolean {
    return frame !== ROOT_FRAME && this.#rows.nonterminal(this.#rows.frameMember(frame, 0)).touchesMemory;
  }
}

function push(map: Map<number, number[]>, key: number, item: number): void {
  const known = map.get(key);
  if (known) known.push(item);
  else map.set(key, [item]);
}

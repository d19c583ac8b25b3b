import { NO_MEMORY } from './memories.ts';
import { Item, ROOT_FRAME, type Row, type RowMaker } from './row.ts';
import { canContinue, canEnd, MemberPlace, type MemberTable, allowsOther } from './member-table.ts';
import { END, isTerminal, MEMBER, ONCE, SEPARATOR, type Terminal, TEXTS } from './rule-tables.ts';

/** Computes the closure of a kernel. */
export class Closure {
  readonly #rows: RowMaker;
  readonly #row: number;
  readonly #agenda: number[] = [];
  readonly #terminals: number[] = [];
  readonly #tokens = new Map<number, number[]>();
  readonly #anyTokens: number[] = [];
  readonly #waiting = new Map<number, number[]>();
  readonly #completed = new Set<number>();
  #canEnd = false;
  #hasDistinct = false;

  constructor(rows: RowMaker, row: number) {
    this.#rows = rows;
    this.#row = row;
  }

  /** The number of items. */
  get size(): number {
    return this.#agenda.length;
  }

  of(kernel: readonly number[]): Row {
    for (const item of kernel) this.#add(item);
    // The agenda grows during the loop.
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
    const place = this.#rows.item(item, Item.place);
    const least = min[place] as number;
    if (least === TEXTS) return this.#takeTexts(item);
    if (least === SEPARATOR) return this.#takeSeparator(item);
    if (least === MEMBER) return this.#await(item, symbols[place] as number, false);
    if (least === ONCE) {
      const symbol = symbols[place] as number;
      if (symbol === END) this.#complete(item);
      else this.#await(item, symbol, symbols[place + 1] === END);
      return;
    }
    const count = this.#rows.item(item, Item.count);
    const most = max[place] as number;
    if (count >= least) this.#complete(item);
    if (count < most) this.#await(item, symbols[place] as number, count + 1 === most);
  }

  /** Before a member: one of the listed names, or another name. */
  #takeTexts(item: number): void {
    const { symbols, members } = this.#rows.tables;
    const place = this.#rows.item(item, Item.place);
    const table = members[place] as MemberTable;
    const state = this.#rows.item(item, Item.count);
    if (allowsOther(table, state)) this.#add(this.#rows.moved(item, place + MemberPlace.other));
    this.#awaitTerminal(item, (symbols[place] as number) >> 1);
  }

  /** After a member: the end, or a separator. */
  #takeSeparator(item: number): void {
    const { symbols, members } = this.#rows.tables;
    const place = this.#rows.item(item, Item.place);
    const table = members[place] as MemberTable;
    const state = this.#rows.item(item, Item.count);
    if (canEnd(table, state)) this.#complete(item);
    if (canContinue(table, state)) this.#await(item, symbols[place] as number, false);
  }

  #await(item: number, symbol: number, isLast: boolean): void {
    if (isTerminal(symbol)) return this.#awaitTerminal(item, symbol >> 1);
    const { starts, isNullable, isScope, touchesMemory } = this.#rows.nonterminal(symbol >> 1);
    const memory = this.#rows.item(item, Item.memory);
    const own = this.#rows.item(item, Item.frame);
    if (isNullable && !this.#isRepeated(item)) {
      this.#add(this.#rows.advanced(item, memory));
    }
    const inner = isScope ? NO_MEMORY : memory;
    // The memory is dropped when its scope ends, so the completed item returns only to predictions without a memory.
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
    if (isNullable && !this.#isRepeated(item)) {
      this.#add(this.#rows.advanced(item, this.#rows.item(item, Item.memory)));
    }
    this.#terminals.push(item);
  }

  #complete(item: number): void {
    const frame = this.#rows.item(item, Item.frame);
    if (frame === ROOT_FRAME) {
      this.#canEnd = true;
      return;
    }
    const touchesMemory = this.#touchesMemory(frame);
    const memory = touchesMemory ? this.#rows.item(item, Item.memory) : NO_MEMORY;
    const key = frame * 2 ** 26 + memory;
    const row = this.#rows.frameMember(frame, 1);
    // Within a row only nullable nonterminals complete, and those were already stepped over.
    if (row === this.#row || this.#completed.has(key)) return;
    this.#completed.add(key);
    for (const waiting of this.#rows.at(row).waiting.get(frame) ?? []) {
      this.#add(this.#rows.advanced(waiting, touchesMemory ? memory : this.#rows.item(waiting, Item.memory)));
    }
  }

  #isRepeated(item: number): boolean {
    return (this.#rows.tables.min[this.#rows.item(item, Item.place)] as number) >= 0;
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

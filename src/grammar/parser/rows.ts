import type { RegularLanguages } from '../regex/regular-languages.ts';
import { Ints, TupleTable } from '../tuple-table.ts';
import type { Language } from '../regex/language-kinds.ts';
import { Sizes } from '../regex/sizes.ts';
import { DEAD, Lexer, NO_WORD } from './lexer.ts';
import { MemberPlace, type MemberTable, nextMembers, stateBehind } from './member-table.ts';
import { Memories, NO_MEMORY } from './memories.ts';
import { Closure } from './closure.ts';
import { Item, ROOT_FRAME, type Row, type RowMaker } from './row.ts';
import { type Nonterminal, ONCE, type RuleTables, type Terminal } from './rule-tables.ts';

const MAX_INTS = 24 * 2 ** 20;
/** More than there are memories, and states of members. */
const VARIANTS = 2 ** 31;

/**
 * The rows of an Earley parser (Earley 1970), each kept once. An item says what completes it returns to by a frame: a nonterminal and
 * the row that predicted it. Rows name each other by what they hold and not by where they stand in the text, so that equal
 * situations, the tenth item of an array as the third, are the same row and share all that was found out about it. Nullable
 * nonterminals are stepped over when they are predicted (Aycock and Horspool 2002). What is predicted in the last place of a
 * production returns to where that production returns to, so that right recursion costs no chain of completions (as Leo 1991
 * has it) and leaves equal rows.
 */
export class Rows implements RowMaker {
  readonly lexer: Lexer;
  readonly #regular: RegularLanguages;
  readonly #tables: RuleTables;
  readonly #memories: Memories;
  readonly #sizes: Sizes;
  /** Kernels: items, ascending. */
  readonly #kernels = new TupleTable();
  readonly #rows: Row[] = [];
  /** [place, count, frame, memory]. */
  readonly #items = new TupleTable();
  /** [nonterminal, row, memory]. */
  readonly #frames = new TupleTable();
  /** By row, the same without memories. */
  readonly #shadows: number[] = [];
  /** By row and ending of its lexer, the row after it, without what `distinct` terminals add to memories. */
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
    this.#sizes = new Sizes(regular.languages);
    this.lexer = new Lexer(regular);
    this.#frames.intern([]);
    this.first = this.row([this.#items.intern([tables.start, 0, ROOT_FRAME, NO_MEMORY])]);
  }

  at(row: number): Row {
    return this.#rows[row] as Row;
  }

  /** The row of a kernel: items that follow terminals; the array is sorted in place. */
  row(kernel: number[]): number {
    const sorted = kernel.sort((a, b) => a - b).filter((item, i) => item !== kernel[i - 1]);
    const before = this.#kernels.size;
    const row = this.#kernels.intern(sorted);
    if (row === before) {
      const closure = new Closure(this, row);
      this.#rows.push(closure.of(sorted));
      this.#waiting += closure.size;
      this.#checkSize();
      const bare = sorted.map((item) => this.#bare(item));
      // What has no memories is what it would be without.
      this.#shadows[row] = row;
      if (bare.some((item, i) => item !== sorted[i])) this.#shadows[row] = this.row(bare);
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

  /** The row as it would be had `distinct` terminals matched nothing: many rows have the same one. */
  shadow(row: number): number {
    return this.#shadows[row] as number;
  }

  /** More texts than any memory can have after the terminals that are under way. */
  get maxTexts(): number {
    return this.#memories.maxTexts + 1;
  }

  /** True when nothing can come after a row, and the text cannot end in it. */
  isDead(row: number): boolean {
    const { canEnd, lexer, tokens, anyTokens } = this.at(row);
    return !canEnd && lexer === DEAD && tokens.size === 0 && anyTokens.length === 0;
  }

  /** Adds the items after the terminals that end; `text` is what they matched, memories stay as they are without it. */
  scan(row: number, ending: number, text: (() => Uint8Array) | undefined, kernel: number[]): void {
    const { terminals } = this.at(row);
    const ends = this.lexer.endsOf(ending);
    for (let at = 0; at < ends.length; at += 2) {
      const word = ends[at + 1] as number;
      for (const item of terminals[ends[at] as number] ?? []) {
        if (word !== NO_WORD) {
          kernel.push(this.moved(item, this.item(item, Item.place) + MemberPlace.values + word));
          continue;
        }
        const memory = this.item(item, Item.memory);
        const next = text && this.#isDistinct(item) ? this.#memories.with(memory, text()) : memory;
        kernel.push(this.advanced(item, next));
      }
    }
  }

  /** The row after the terminals that end, with memories as they were: right where nothing `distinct` follows. */
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
    const ends = this.lexer.endsOf(ending);
    return ends.some(
      (slot, at) => at % 2 === 0 && (terminals[slot] ?? []).some((item) => this.#isDistinct(item)),
    );
  }

  /** How many texts at least are left for some terminal of a row when the lexer is in a state; Infinity where nothing compares them. */
  minTexts(row: number, state: number): number {
    const { hasDistinct, terminals } = this.at(row);
    if (!hasDistinct) return Infinity;
    let least = 0;
    for (const { slot, language } of this.lexer.pairsOf(state)) {
      const isCompared = (terminals[slot] ?? []).every((item) => this.#isDistinct(item));
      if (!isCompared) return Infinity;
      least = Math.max(least, this.#sizes.atLeast(language));
    }
    return least;
  }

  /** Adds the items after a token as such; `isText` says that it stands for text. */
  scanToken(row: number, id: number, isText: boolean, kernel: number[]): void {
    const { tokens, anyTokens } = this.at(row);
    const any = isText ? anyTokens.filter((item) => !this.exceptions(item).has(id)) : [];
    for (const item of [...(tokens.get(id) ?? []), ...any]) {
      kernel.push(this.advanced(item, this.item(item, Item.memory)));
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

  /** The item after the symbol that one waits for. */
  advanced(item: number, memory: number): number {
    const place = this.item(item, Item.place);
    const frame = this.item(item, Item.frame);
    const min = this.#tables.min[place] as number;
    if (min === ONCE) return this.#items.intern([place + 1, 0, frame, memory]);
    const members = this.#tables.members[place];
    if (members)
      return this.#items.intern([
        ...behindMember(members, place, this.item(item, Item.count)),
        frame,
        memory,
      ]);
    // Beyond the least count of an unlimited repetition there is nothing to count.
    const count = this.item(item, Item.count) + 1;
    const counted = this.#tables.max[place] === Infinity ? Math.min(count, min) : count;
    return this.#items.intern([place, counted, frame, memory]);
  }

  moved(item: number, place: number): number {
    const [count, frame, memory] = [Item.count, Item.frame, Item.memory].map((at) => this.item(item, at));
    return this.#items.intern([place, count as number, frame as number, memory as number]);
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

  /** The lexer's state before the terminals that items wait for, and the items by their slots there. */
  waitingForText(items: readonly number[]): Pick<Row, 'lexer' | 'terminals' | 'isAmbiguous'> {
    const groups = new Map<number, number[]>();
    for (const item of items) push(groups, this.#terminalKey(item), item);
    // In the order of terminals, so that rows which differ in memories have the same slots.
    const keys = [...groups.keys()].sort((a, b) => a - b);
    const terminals = keys.map((key) => groups.get(key) as number[]);
    const pairs = terminals.map(([item], slot) => ({ slot, language: this.#languageAt(item as number) }));
    return {
      lexer: this.lexer.start(pairs.filter(({ language }) => this.#regular.liveness.canGoOn(language))),
      terminals,
      isAmbiguous: keys.some((key, i) => {
        const isSame = i > 0 && terminalOf(key) === terminalOf(keys[i - 1] as number);
        return isSame && this.#isDistinct(terminals[i]?.[0] as number);
      }),
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

  /** An item without memories. */
  #bare(item: number): number {
    const { array } = this.#items.values;
    const start = this.#items.start(item);
    const [place = 0, count = 0, frame = 0] = array.subarray(start, start + 3);
    return this.#items.intern([place, count, this.#bareFrame(frame), NO_MEMORY]);
  }

  #bareFrame(frame: number): number {
    if (frame === ROOT_FRAME) return frame;
    return this.frame(this.frameMember(frame, 0), this.shadow(this.frameMember(frame, 1)), NO_MEMORY);
  }

  /** Equal for items that wait for the same terminal, compared with the same memory, and for the same members. */
  #terminalKey(item: number): number {
    const number = (this.#tables.symbols[this.item(item, Item.place)] as number) >> 1;
    const { kind } = this.#terminalAt(item);
    if (kind === 'texts') return number * VARIANTS + this.item(item, Item.count);
    return number * VARIANTS + (kind === 'distinct' ? this.item(item, Item.memory) : NO_MEMORY);
  }

  /** The language of the terminal that an item waits for, without what its memory holds. */
  #languageAt(item: number): Language {
    const terminal = this.#terminalAt(item);
    if (terminal.kind === 'texts') {
      const { languages, words } = this.#regular;
      const table = this.#tables.members[this.item(item, Item.place)] as MemberTable;
      return nextMembers(table, this.item(item, Item.count), words, languages.never);
    }
    if (!('language' in terminal)) return this.#regular.languages.never;
    if (terminal.kind === 'regex') return terminal.language;
    return this.#memories.unmatched(terminal.language, this.item(item, Item.memory));
  }

  #isDistinct(item: number): boolean {
    return this.#terminalAt(item).kind === 'distinct';
  }

  /** The terminal that an item waits for. */
  #terminalAt(item: number): Terminal {
    const symbol = this.#tables.symbols[this.item(item, Item.place)] as number;
    return this.#tables.terminals[symbol >> 1] as Terminal;
  }

  /** How many integers the tables hold, about. */
  get ints(): number {
    return (
      this.#items.values.length + this.#kernels.values.length + this.#frames.values.length + this.#waiting
    );
  }

  #checkSize(): void {
    if (this.ints > MAX_INTS)
      this.#regular.languages.fuel.refuse('its parser grows beyond the memory that grammars may take');
  }
}

/** The place and state after a separator, or after a member. */
function behindMember(table: MemberTable, place: number, state: number): [place: number, state: number] {
  const at = place - table.place;
  if (at === MemberPlace.separator) return [table.place, state];
  const index = at === MemberPlace.other ? table.size : at - MemberPlace.values;
  return [table.place + MemberPlace.separator, stateBehind(table, state, index)];
}

function terminalOf(key: number): number {
  return Math.floor(key / VARIANTS);
}

function push(map: Map<number, number[]>, key: number, item: number): void {
  const known = map.get(key);
  if (known) known.push(item);
  else map.set(key, [item]);
}

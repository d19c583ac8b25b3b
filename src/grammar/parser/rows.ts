import type { RegularLanguages } from '../regex/regular-languages.ts';
import { Ints, TupleTable } from '../tuple-table.ts';
import type { Language } from '../regex/language-kinds.ts';
import { Sizes } from '../regex/sizes.ts';
import { DEAD, Lexer, NO_WORD } from './lexer.ts';
import { MemberPlace, type MemberTable, nextMembers, stateAfterMember } from './member-table.ts';
import { Memories, NO_MEMORY } from './memories.ts';
import { Closure } from './closure.ts';
import { Item, ROOT_FRAME, type Row, type RowMaker } from './row.ts';
import { type Nonterminal, ONCE, type RuleTables, type Terminal } from './rule-tables.ts';

const MAX_INTS = 24 * 2 ** 20;
/** Exceeds the number of memories and of member states. */
const VARIANTS = 2 ** 31;

/**
 * The rows (item sets) of an Earley parser (Earley 1970), interned. An item returns to its predictor through a frame: a
 * nonterminal and the row that predicted it. Rows refer to each other by content and not by position, so equal
 * situations, such as the third and the tenth item of an array, are the same row and share everything computed for it.
 * Nullable nonterminals are skipped at prediction (Aycock and Horspool 2002). A nonterminal predicted at the end of a
 * production returns to where the production returns to, so right recursion builds no chain of completions (compare Leo
 * 1991) and yields equal rows.
 */
export class Rows implements RowMaker {
  readonly lexer: Lexer;
  readonly #regular: RegularLanguages;
  readonly #tables: RuleTables;
  readonly #memories: Memories;
  readonly #sizes: Sizes;
  /** Kernels: items in ascending order. */
  readonly #kernels = new TupleTable();
  readonly #rows: Row[] = [];
  /** [place, count, frame, memory]. */
  readonly #items = new TupleTable();
  /** [nonterminal, row, memory]. */
  readonly #frames = new TupleTable();
  /** By row: its shadow, the same row without memories. */
  readonly #shadows: number[] = [];
  /** By row and set of ended terminals: the next row, without the texts that `distinct` terminals add to memories. */
  readonly #behind = new Map<number, number>();
  readonly #stamps = new Ints();
  /** The total number of items in all closures. */
  #waiting = 0;
  /** The row before any text. */
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

  /** The row of a kernel, whose items follow terminals; sorts the array in place. */
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
      // A row without memories is its own shadow.
      this.#shadows[row] = row;
      if (bare.some((item, i) => item !== sorted[i])) this.#shadows[row] = this.row(bare);
    }
    return row;
  }

  /** The union of two rows. */
  joined(a: number, b: number): number {
    const items = [a, b].flatMap((row) => {
      const start = this.#kernels.start(row);
      return Array.from(this.#kernels.values.array.subarray(start, start + this.#kernels.lengthOf(row)));
    });
    return this.row(items);
  }

  /** The row as if `distinct` terminals had matched nothing; many rows share a shadow. */
  shadow(row: number): number {
    return this.#shadows[row] as number;
  }

  /** An upper bound on the number of texts in any memory after the unfinished terminals end. */
  get maxTexts(): number {
    return this.#memories.maxTexts + 1;
  }

  /** True when nothing can follow a row and the text cannot end in it. */
  isDead(row: number): boolean {
    const { canEnd, lexer, tokens, anyTokens } = this.at(row);
    return !canEnd && lexer === DEAD && tokens.size === 0 && anyTokens.length === 0;
  }

  /**
   * Adds to `kernel` the items after the terminals that end; `text` returns what they matched, and without it memories
   * stay unchanged.
   */
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

  /** The row after the terminals that end, with memories unchanged: correct where no `distinct` terminal follows. */
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

  /**
   * The minimum number of texts that remain for some terminal of a row in this lexer state; Infinity when none is
   * compared with earlier texts.
   */
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

  /** Adds to `kernel` the items after a token taken as a whole; `isText` is true for tokens that stand for text. */
  scanToken(row: number, id: number, isText: boolean, kernel: number[]): void {
    const { tokens, anyTokens } = this.at(row);
    const any = isText ? anyTokens.filter((item) => !this.exceptions(item).has(id)) : [];
    for (const item of [...(tokens.get(id) ?? []), ...any]) {
      kernel.push(this.advanced(item, this.item(item, Item.memory)));
    }
  }

  /** The tokens excluded by an item that accepts any other token. */
  exceptions(item: number): ReadonlySet<number> {
    const terminal = this.#terminalAt(item);
    return terminal.kind === 'any-token' ? terminal.except : new Set();
  }

  /** True when a terminal matches the empty text. */
  isNullable(terminal: Terminal): boolean {
    return terminal.kind === 'regex' && this.#regular.languages.isNullable(terminal.language);
  }

  item(item: number, member: number): number {
    return this.#items.at(item, member);
  }

  /** The item advanced over the symbol that it expects. */
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
    // Above the minimum, unlimited repetitions need no count.
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

  /** The lexer's state before the terminals that the items expect, and the items by slot. */
  waitingForText(items: readonly number[]): Pick<Row, 'lexer' | 'terminals' | 'isAmbiguous'> {
    const groups = new Map<number, number[]>();
    for (const item of items) push(groups, this.#terminalKey(item), item);
    // In the order of terminals, so that rows that differ only in memories have the same slots.
    const keys = [...groups.keys()].sort((a, b) => a - b);
    const terminals = keys.map((key) => groups.get(key) as number[]);
    const pairs = terminals.map(([item], slot) => ({ slot, language: this.#languageAt(item as number) }));
    return {
      lexer: this.lexer.start(pairs.filter(({ language }) => this.#regular.liveness.canContinue(language))),
      terminals,
      isAmbiguous: keys.some((key, i) => {
        const isSame = i > 0 && terminalOf(key) === terminalOf(keys[i - 1] as number);
        return isSame && this.#isDistinct(terminals[i]?.[0] as number);
      }),
    };
  }

  /** True for the first call with this row and item. */
  isNewIn(row: number, item: number): boolean {
    while (this.#stamps.length <= item) this.#stamps.push(-1);
    if (this.#stamps.at(item) === row) return false;
    this.#stamps.array[item] = row;
    this.#regular.languages.fuel.spend(1);
    return true;
  }

  /** The item without its memories. */
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

  /** Equal for items that expect the same terminal, compared with the same memory, and the same members. */
  #terminalKey(item: number): number {
    const number = (this.#tables.symbols[this.item(item, Item.place)] as number) >> 1;
    const { kind } = this.#terminalAt(item);
    if (kind === 'texts') return number * VARIANTS + this.item(item, Item.count);
    return number * VARIANTS + (kind === 'distinct' ? this.item(item, Item.memory) : NO_MEMORY);
  }

  /** The language of the terminal that an item expects, without the texts in its memory. */
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

  /** The terminal that an item expects. */
  #terminalAt(item: number): Terminal {
    const symbol = this.#tables.symbols[this.item(item, Item.place)] as number;
    return this.#tables.terminals[symbol >> 1] as Terminal;
  }

  /** Roughly the number of integers in the tables. */
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
  return [table.place + MemberPlace.separator, stateAfterMember(table, state, index)];
}

function terminalOf(key: number): number {
  return Math.floor(key / VARIANTS);
}

function push(map: Map<number, number[]>, key: number, item: number): void {
  const known = map.get(key);
  if (known) known.push(item);
  else map.set(key, [item]);
}

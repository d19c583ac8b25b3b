import { fail, invariant } from '../../base/errors.ts';
import type { Member } from '../grammar.ts';
import type { RegularLanguages } from '../regex/regular-languages.ts';
import { hasMembers, type MemberCounts, memberTable, type MemberTable } from './member-table.ts';
import {
  END,
  isTerminal,
  MEMBER,
  type Nonterminal,
  ONCE,
  type RuleTables,
  SEPARATOR,
  type Symbol,
  type Terminal,
  TEXTS,
} from './rule-tables.ts';

/** A nonterminal under construction. */
class Draft {
  productions: readonly (readonly Symbol[])[] = [];
  /** The counts of a repetition; its one production is the repeated part. */
  counts: { readonly min: number; readonly max: number } | undefined = undefined;
  members: MemberDraft | undefined = undefined;
  /** Creates the symbol that it stands for. */
  later: (() => Symbol) | undefined = undefined;
  isScope = false;
  isProductive = false;
  isNullable = false;
  touchesMemory = false;

  forEachSymbol(visit: (symbol: Symbol) => void): void {
    for (const production of this.productions) production.forEach(visit);
    if (!this.members) return;
    const { values, separator, other } = this.members;
    values.forEach(visit);
    visit(separator);
    if (other !== undefined) visit(other);
  }
}

/** Members, with symbols for their values. */
export interface MemberDraft {
  readonly members: readonly Pick<Member, 'text' | 'isRequired'>[];
  /** By member. */
  readonly values: readonly Symbol[];
  readonly other: Symbol | undefined;
  readonly separator: Symbol;
  readonly min: number;
  readonly max: number;
}

/** A nonterminal that is built when it is first predicted. */
class LaterNonterminal implements Nonterminal {
  readonly isNullable = false;
  readonly touchesMemory = false;
  readonly isScope = false;
  readonly #make: () => readonly number[];
  #starts: readonly number[] | undefined;

  constructor(make: () => readonly number[]) {
    this.#make = make;
  }

  get starts(): readonly number[] {
    return (this.#starts ??= this.#make());
  }
}

/** From a nonterminal to the new nonterminals that use it in a production. */
type Users = ReadonlyMap<number, readonly number[]>;

/** The places of all productions. */
class Places {
  readonly symbols: Symbol[] = [];
  readonly min: number[] = [];
  readonly max: number[] = [];
  readonly members: (MemberTable | undefined)[] = [];

  get length(): number {
    return this.symbols.length;
  }

  add(symbol: Symbol, least: number, most: number, members?: MemberTable): number {
    this.min.push(least);
    this.max.push(most);
    this.members.push(members);
    return this.symbols.push(symbol) - 1;
  }

  production(symbols: readonly Symbol[]): number {
    const start = this.length;
    for (const symbol of symbols) this.add(symbol, ONCE, ONCE);
    this.add(END, ONCE, ONCE);
    return start;
  }
}

/** Collects terminals and nonterminals, and computes the facts about them that the parser needs. */
export class RuleBuilder {
  readonly #regular: RegularLanguages;
  readonly #terminals: Terminal[] = [];
  readonly #terminalSymbols = new Map<string, Symbol>();
  readonly #drafts: Draft[] = [];
  readonly #nonterminals: Nonterminal[] = [];
  readonly #places = new Places();

  constructor(regular: RegularLanguages) {
    this.#regular = regular;
  }

  terminal(terminal: Terminal): Symbol {
    const key = keyOf(terminal);
    const known = this.#terminalSymbols.get(key);
    if (known !== undefined) return known;
    const symbol = (this.#terminals.push(terminal) - 1) * 2;
    this.#terminalSymbols.set(key, symbol);
    return symbol;
  }

  /** A nonterminal whose productions are added later. */
  open(): Symbol {
    return this.#add(new Draft());
  }

  close(symbol: Symbol, productions: readonly (readonly Symbol[])[]): void {
    this.#at(symbol).productions = productions;
  }

  repeat(part: Symbol, min: number, max: number): Symbol {
    const draft = new Draft();
    draft.productions = [[part]];
    draft.counts = { min, max };
    return this.#add(draft);
  }

  /** Members; those whose value matches nothing are left out. */
  members(members: MemberDraft): Symbol {
    const draft = new Draft();
    draft.members = members;
    return this.#add(draft);
  }

  scope(part: Symbol): Symbol {
    const draft = new Draft();
    draft.productions = [[part]];
    draft.isScope = true;
    return this.#add(draft);
  }

  /** A nonterminal whose symbol is built when it is first predicted; it must match some text, and not the empty one. */
  later(make: () => Symbol): Symbol {
    const draft = new Draft();
    draft.later = make;
    draft.isProductive = true;
    return this.#add(draft);
  }

  /** Returns the tables. Throws `GRAMMAR_INVALID` when the root matches nothing. */
  finish(root: Symbol): RuleTables {
    this.#settle();
    if (!this.#isProductive(root)) fail('GRAMMAR_INVALID', { reason: 'there is no text that it allows' });
    const start = this.#places.production([root]);
    const { symbols, min, max, members } = this.#places;
    return {
      terminals: this.#terminals,
      nonterminals: this.#nonterminals,
      symbols,
      min,
      max,
      members,
      start,
    };
  }

  /** Adds the new nonterminals to the tables. */
  #settle(): void {
    const first = this.#nonterminals.length;
    const users = this.#users(first);
    this.#propagate(users, 'isProductive', first);
    this.#propagate(users, 'isNullable', first);
    this.#markMemory(users, first);
    for (let at = first, end = this.#drafts.length; at < end; at++)
      this.#nonterminals.push(this.#nonterminal(this.#drafts[at] as Draft));
  }

  #nonterminal(draft: Draft): Nonterminal {
    const { isNullable, touchesMemory, isScope, later } = draft;
    if (later) return new LaterNonterminal(() => this.#startsOfLater(later));
    return { starts: draft.isProductive ? this.#starts(draft) : [], isNullable, touchesMemory, isScope };
  }

  #startsOfLater(later: () => Symbol): readonly number[] {
    const symbol = later();
    this.#settle();
    const isText = this.#isProductive(symbol) && !this.#isNullable(symbol);
    invariant(
      isText && !this.#touchesMemory(symbol),
      'what is made later has texts, and memories of its own',
    );
    return [this.#places.production([symbol])];
  }

  /** Writes the productions of a nonterminal and returns where they begin. */
  #starts({ productions, counts, members }: Draft): number[] {
    const places = this.#places;
    if (members) return [this.#startOfMembers(members)];
    if (!counts) {
      return productions
        .filter((one) => one.every((symbol) => this.#isProductive(symbol)))
        .map((one) => places.production(one));
    }
    const part = productions[0]?.[0] as Symbol;
    if (!this.#isProductive(part)) return [places.production([])];
    return [places.add(part, this.#isNullable(part) ? 0 : counts.min, counts.max)];
  }

  #startOfMembers(draft: MemberDraft): number {
    const places = this.#places;
    const { members, values } = draft;
    const { size, hasOther, min, max } = this.#countsOf(draft);
    const isPossible = (at: number): boolean => this.#isProductive(values[at] as Symbol);
    const possible = size === members.length ? members : members.filter((_, at) => isPossible(at));
    const list = this.#regular.words.numbered(possible.map(({ text }) => text));
    const texts = this.terminal({ kind: 'texts', list });
    const isRequired = possible.map((member) => member.isRequired);
    const place = places.length;
    const table = memberTable({ list, isRequired, hasOther, min, max, place });
    if (!table) return this.#regular.languages.fuel.refuse('there are too many members to tell apart');
    places.add(texts, TEXTS, ONCE, table);
    places.add(draft.separator, SEPARATOR, ONCE, table);
    places.add((hasOther ? draft.other : undefined) ?? END, MEMBER, ONCE, table);
    for (const value of values) if (this.#isProductive(value)) places.add(value, MEMBER, ONCE, table);
    return place;
  }

  #add(draft: Draft): Symbol {
    return (this.#drafts.push(draft) - 1) * 2 + 1;
  }

  #at(symbol: Symbol): Draft {
    return this.#drafts[symbol >> 1] as Draft;
  }

  /** The number of members that can occur, and the bounds on how many may. */
  #countsOf({ members, values, other, separator, min, max: most }: MemberDraft): MemberCounts {
    this.#regular.languages.fuel.spend(members.length >> 3);
    let [size, required] = [0, 0];
    for (let at = 0; at < values.length; at++) {
      if (!this.#isProductive(values[at] as Symbol)) continue;
      size++;
      if (members[at]?.isRequired === true) required++;
    }
    const max = this.#isProductive(separator) ? most : Math.min(most, 1);
    return { size, required, hasOther: other !== undefined && this.#isProductive(other), min, max };
  }

  #hasMembers(draft: MemberDraft): boolean {
    const { members, values } = draft;
    const isMissing = values.some(
      (value, at) => members[at]?.isRequired === true && !this.#isProductive(value),
    );
    return !isMissing && hasMembers(this.#countsOf(draft));
  }

  #isProductive(symbol: Symbol): boolean {
    if (!isTerminal(symbol)) return this.#at(symbol).isProductive;
    const terminal = this.#terminals[symbol >> 1] as Terminal;
    return !('language' in terminal) || this.#regular.liveness.isLive(terminal.language);
  }

  #isNullable(symbol: Symbol): boolean {
    if (!isTerminal(symbol)) return this.#at(symbol).isNullable;
    const terminal = this.#terminals[symbol >> 1] as Terminal;
    return terminal.kind === 'regex' && this.#regular.languages.isNullable(terminal.language);
  }

  /**
   * Sets a fact of every nonterminal from `first` on that has a production whose symbols all have it (or needs none),
   * until nothing changes.
   */
  #propagate(users: Users, fact: 'isProductive' | 'isNullable', first: number): void {
    const holds = (symbol: Symbol): boolean =>
      fact === 'isProductive' ? this.#isProductive(symbol) : this.#isNullable(symbol);
    const agenda: number[] = [];
    for (let at = first; at < this.#drafts.length; at++) if (!this.#drafts[at]?.later) agenda.push(at);
    for (let at = agenda.pop(); at !== undefined; at = agenda.pop()) {
      const draft = this.#drafts[at] as Draft;
      if (draft[fact]) continue;
      this.#regular.languages.fuel.spend(1);
      if (!this.#hasFact(draft, fact, holds)) continue;
      draft[fact] = true;
      for (const user of users.get(at) ?? []) agenda.push(user);
    }
  }

  #hasFact(draft: Draft, fact: 'isProductive' | 'isNullable', holds: (symbol: Symbol) => boolean): boolean {
    if (draft.members) {
      return fact === 'isProductive' ? this.#hasMembers(draft.members) : mayBeNothing(draft.members, holds);
    }
    return draft.counts?.min === 0 || draft.productions.some((production) => production.every(holds));
  }

  /** True for a `distinct` terminal, and for a nonterminal known to contain one outside any inner scope. */
  #touchesMemory(symbol: Symbol): boolean {
    return isTerminal(symbol)
      ? this.#terminals[symbol >> 1]?.kind === 'distinct'
      : this.#at(symbol).touchesMemory;
  }

  #markMemory(users: Users, first: number): void {
    const agenda: number[] = [];
    const mark = (at: number): void => {
      const draft = this.#drafts[at] as Draft;
      if (draft.touchesMemory || draft.isScope) return;
      draft.touchesMemory = true;
      agenda.push(at);
    };
    for (let at = first; at < this.#drafts.length; at++) {
      (this.#drafts[at] as Draft).forEachSymbol((symbol) => {
        if (this.#touchesMemory(symbol)) mark(at);
      });
    }
    for (let at = agenda.pop(); at !== undefined; at = agenda.pop()) {
      for (const user of users.get(at) ?? []) mark(user);
    }
  }

  #users(first: number): Users {
    const users = new Map<number, number[]>();
    for (let at = first; at < this.#drafts.length; at++) {
      (this.#drafts[at] as Draft).forEachSymbol((symbol) => {
        // Nonterminals that are built later need no more facts.
        if (isTerminal(symbol) || symbol >> 1 < first || this.#at(symbol).later) return;
        const own = users.get(symbol >> 1);
        if (own) own.push(at);
        else users.set(symbol >> 1, [at]);
      });
    }
    return users;
  }
}

/** Listed members are not empty, but another member may be. */
function mayBeNothing(
  { members, other, separator, min, max }: MemberDraft,
  isNullable: (symbol: Symbol) => boolean,
): boolean {
  if (other === undefined || max === 0 || !isNullable(other)) return false;
  return !members.some(({ isRequired }) => isRequired) && (min <= 1 || isNullable(separator));
}

/** Equal for equal terminals. */
function keyOf(terminal: Terminal): string {
  if (terminal.kind === 'texts') return `texts ${terminal.list}`;
  if ('language' in terminal) return `${terminal.kind} ${terminal.language}`;
  return terminal.kind === 'token' ? `token ${terminal.id}` : `but ${[...terminal.except].join(' ')}`;
}

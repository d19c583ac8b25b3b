import { fail, invariant } from '../../base/errors.ts';
import type { Member } from '../grammar.ts';
import { bytesOf } from '../regex/regex-compiler.ts';
import type { RegularLanguages } from '../regex/regular-languages.ts';
import { hasMembers, memberTable, type MemberTable } from './member-table.ts';
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
interface Draft {
  productions: readonly (readonly Symbol[])[];
  /** Counts of a repetition, whose one production is what is repeated. */
  readonly counts: { readonly min: number; readonly max: number } | undefined;
  readonly members: MemberDraft | undefined;
  /** Makes the symbol that it stands for. */
  readonly later: (() => Symbol) | undefined;
  readonly isScope: boolean;
  isProductive: boolean;
  isNullable: boolean;
  touchesMemory: boolean;
}

/** Members with symbols for what they consist of. */
export interface MemberDraft {
  readonly members: readonly (Pick<Member, 'text' | 'isRequired'> & { readonly value: Symbol })[];
  readonly other: Symbol | undefined;
  readonly separator: Symbol;
  readonly min: number;
  readonly max: number;
}

/** By nonterminal, those that are new in whose productions it stands. */
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

/** Collects terminals and nonterminals, and says of each what the parser has to know. */
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

  /** A nonterminal whose productions come later. */
  open(): Symbol {
    return this.#draft({ productions: [], isScope: false });
  }

  close(symbol: Symbol, productions: readonly (readonly Symbol[])[]): void {
    this.#at(symbol).productions = productions;
  }

  repeat(part: Symbol, min: number, max: number): Symbol {
    return this.#draft({ productions: [[part]], counts: { min, max }, isScope: false });
  }

  /** Members, of which those are left out whose value has no text. */
  members(members: MemberDraft): Symbol {
    const { separator, other } = members;
    const parts = members.members.map(({ value }) => [value]);
    const productions = [...parts, [separator], ...(other === undefined ? [] : [[other]])];
    return this.#draft({ productions, members, isScope: false });
  }

  scope(part: Symbol): Symbol {
    return this.#draft({ productions: [[part]], isScope: true });
  }

  /** A nonterminal that stands for what is made when it is first come to: it has texts, and none that is empty. */
  later(make: () => Symbol): Symbol {
    return this.#draft({ productions: [], later: make, isScope: false });
  }

  /** The tables. Throws `GRAMMAR_INVALID` where the root matches nothing. */
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

  /** Adds the nonterminals to the tables that are new. */
  #settle(): void {
    const first = this.#nonterminals.length;
    const users = this.#users(first);
    this.#propagate(users, 'isProductive', first);
    this.#propagate(users, 'isNullable', first);
    this.#markMemory(users, first);
    for (const draft of this.#drafts.slice(first)) this.#nonterminals.push(this.#nonterminal(draft));
  }

  #nonterminal(draft: Draft): Nonterminal {
    const { isNullable, touchesMemory, isScope, later } = draft;
    const facts = { isNullable, touchesMemory, isScope };
    if (!later) return { starts: draft.isProductive ? this.#starts(draft) : [], ...facts };
    let starts: readonly number[] | undefined;
    const make = (): readonly number[] => {
      const symbol = later();
      this.#settle();
      const isText = this.#isProductive(symbol) && !this.#isNullable(symbol);
      invariant(
        isText && !this.#touchesMemory(symbol),
        'what is made later has texts, and memories of its own',
      );
      return [this.#places.production([symbol])];
    };
    return {
      get starts() {
        return (starts ??= make());
      },
      ...facts,
    };
  }

  /** Writes the productions of a nonterminal; where they begin. */
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
    const { possible, isRequired, hasOther, min, max } = this.#possible(draft);
    const list = this.#regular.words.numbered(possible.map(({ text }) => bytesOf(text)));
    const texts = this.terminal({ kind: 'texts', list });
    const other = hasOther ? draft.other : undefined;
    const place = places.length;
    const table = memberTable({ list, isRequired, hasOther, min, max, place });
    if (!table) return this.#regular.languages.fuel.refuse('there are too many members to tell apart');
    places.add(texts, TEXTS, ONCE, table);
    places.add(draft.separator, SEPARATOR, ONCE, table);
    places.add(other ?? END, MEMBER, ONCE, table);
    for (const { value } of possible) places.add(value, MEMBER, ONCE, table);
    return place;
  }

  #draft(
    draft: Pick<Draft, 'productions' | 'isScope'> & Partial<Pick<Draft, 'counts' | 'members' | 'later'>>,
  ): Symbol {
    const { productions, counts, members, later, isScope } = draft;
    const facts = { isProductive: later !== undefined, isNullable: false, touchesMemory: false };
    return (this.#drafts.push({ productions, counts, members, later, isScope, ...facts }) - 1) * 2 + 1;
  }

  #at(symbol: Symbol): Draft {
    return this.#drafts[symbol >> 1] as Draft;
  }

  /** The members of which there are texts, and what has to be there of them. */
  #possible({ members, other, separator, min, max: most }: MemberDraft) {
    this.#regular.languages.fuel.spend(members.length >> 3);
    const possible = members.filter(({ value }) => this.#isProductive(value));
    const max = this.#isProductive(separator) ? most : Math.min(most, 1);
    const hasOther = other !== undefined && this.#isProductive(other);
    return { possible, isRequired: possible.map(({ isRequired }) => isRequired), hasOther, min, max };
  }

  #hasMembers(draft: MemberDraft): boolean {
    const isMissing = draft.members.some(({ isRequired, value }) => isRequired && !this.#isProductive(value));
    return !isMissing && hasMembers(this.#possible(draft));
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
   * Sets a fact of every nonterminal from `first` on that has a production (or no need of one) whose symbols all have it, until
   * nothing changes.
   */
  #propagate(users: Users, fact: 'isProductive' | 'isNullable', first: number): void {
    const holds = (symbol: Symbol): boolean =>
      fact === 'isProductive' ? this.#isProductive(symbol) : this.#isNullable(symbol);
    const agenda = Array.from({ length: this.#drafts.length - first }, (_, at) => first + at);
    for (let at = agenda.pop(); at !== undefined; at = agenda.pop()) {
      const draft = this.#drafts[at] as Draft;
      if (draft[fact] || draft.later) continue;
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

  /** True where it is a `distinct` terminal, or known to have one that no scope within it holds. */
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
      const { productions } = this.#drafts[at] as Draft;
      if (productions.some((production) => production.some((one) => this.#touchesMemory(one)))) mark(at);
    }
    for (let at = agenda.pop(); at !== undefined; at = agenda.pop()) {
      for (const user of users.get(at) ?? []) mark(user);
    }
  }

  #users(first: number): Users {
    const users = new Map<number, number[]>();
    for (let at = first; at < this.#drafts.length; at++) {
      for (const production of (this.#drafts[at] as Draft).productions) {
        for (const symbol of production) {
          if (isTerminal(symbol) || symbol >> 1 < first) continue;
          const own = users.get(symbol >> 1);
          if (own) own.push(at);
          else users.set(symbol >> 1, [at]);
        }
      }
    }
    return users;
  }
}

/** Members have texts, but what is none of them may be nothing. */
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

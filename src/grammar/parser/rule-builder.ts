import { fail } from '../../base/errors.ts';
import type { RegularLanguages } from '../regex/regular-languages.ts';
import {
  END,
  isTerminal,
  type Nonterminal,
  ONCE,
  type RuleTables,
  type Symbol,
  type Terminal,
} from './rule-tables.ts';

/** A nonterminal under construction. */
interface Draft {
  productions: readonly (readonly Symbol[])[];
  /** Counts of a repetition, whose one production is what is repeated. */
  readonly counts?: { readonly min: number; readonly max: number };
  readonly isScope: boolean;
  isProductive: boolean;
  isNullable: boolean;
  touchesMemory: boolean;
}

/** By nonterminal, those in whose productions it stands. */
type Users = readonly (readonly number[])[];

/** Collects terminals and nonterminals, and says of each what the parser has to know. */
export class RuleBuilder {
  readonly #regular: RegularLanguages;
  readonly #terminals: Terminal[] = [];
  readonly #terminalSymbols = new Map<string, Symbol>();
  readonly #drafts: Draft[] = [];

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

  scope(part: Symbol): Symbol {
    return this.#draft({ productions: [[part]], isScope: true });
  }

  /** The tables. Throws `GRAMMAR_INVALID` where the root matches nothing. */
  finish(root: Symbol): RuleTables {
    const users = this.#users();
    this.#propagate(users, 'isProductive', (symbol) => this.#isProductive(symbol));
    if (!this.#isProductive(root)) fail('GRAMMAR_INVALID', { reason: 'there is no text that it allows' });
    this.#propagate(users, 'isNullable', (symbol) => this.#isNullable(symbol));
    this.#markMemory(users);
    const symbols: Symbol[] = [];
    const min: number[] = [];
    const max: number[] = [];
    const add = (symbol: Symbol, least: number, most: number): number => {
      min.push(least);
      max.push(most);
      return symbols.push(symbol) - 1;
    };
    const addProduction = (production: readonly Symbol[]): number => {
      const start = symbols.length;
      for (const symbol of production) add(symbol, ONCE, ONCE);
      add(END, ONCE, ONCE);
      return start;
    };
    const startsOf = ({ productions, counts }: Draft): number[] => {
      if (!counts) {
        return productions
          .filter((one) => one.every((symbol) => this.#isProductive(symbol)))
          .map(addProduction);
      }
      const part = productions[0]?.[0] as Symbol;
      if (!this.#isProductive(part)) return counts.min === 0 ? [addProduction([])] : [];
      return [add(part, this.#isNullable(part) ? 0 : counts.min, counts.max)];
    };
    const nonterminals = this.#drafts.map((draft): Nonterminal => ({
      starts: startsOf(draft),
      isNullable: draft.isNullable,
      touchesMemory: draft.touchesMemory,
      isScope: draft.isScope,
    }));
    return { terminals: this.#terminals, nonterminals, symbols, min, max, start: addProduction([root]) };
  }

  #draft(draft: Pick<Draft, 'productions' | 'counts' | 'isScope'>): Symbol {
    const whole = { ...draft, isProductive: false, isNullable: false, touchesMemory: false };
    return (this.#drafts.push(whole) - 1) * 2 + 1;
  }

  #at(symbol: Symbol): Draft {
    return this.#drafts[symbol >> 1] as Draft;
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

  /** Sets a fact of every nonterminal that has a production (or no need of one) whose symbols all have it, until nothing changes. */
  #propagate(users: Users, fact: 'isProductive' | 'isNullable', holds: (symbol: Symbol) => boolean): void {
    const agenda = this.#drafts.map((_, i) => i);
    for (let at = agenda.pop(); at !== undefined; at = agenda.pop()) {
      const draft = this.#drafts[at] as Draft;
      if (draft[fact]) continue;
      this.#regular.languages.fuel.spend(1);
      if (draft.counts?.min !== 0 && !draft.productions.some((production) => production.every(holds)))
        continue;
      draft[fact] = true;
      for (const user of users[at] ?? []) agenda.push(user);
    }
  }

  #markMemory(users: Users): void {
    const agenda: number[] = [];
    const mark = (at: number): void => {
      const draft = this.#drafts[at] as Draft;
      if (draft.touchesMemory || draft.isScope) return;
      draft.touchesMemory = true;
      agenda.push(at);
    };
    for (const [at, { productions }] of this.#drafts.entries()) {
      const hasDistinct = productions.some((production) =>
        production.some((one) => isTerminal(one) && this.#terminals[one >> 1]?.kind === 'distinct'),
      );
      if (hasDistinct) mark(at);
    }
    for (let at = agenda.pop(); at !== undefined; at = agenda.pop()) {
      for (const user of users[at] ?? []) mark(user);
    }
  }

  #users(): Users {
    const users = this.#drafts.map((): number[] => []);
    for (const [at, { productions }] of this.#drafts.entries()) {
      for (const production of productions) {
        for (const symbol of production) if (!isTerminal(symbol)) users[symbol >> 1]?.push(at);
      }
    }
    return users;
  }
}

/** Equal for equal terminals. */
function keyOf(terminal: Terminal): string {
  if ('language' in terminal) return `${terminal.kind} ${terminal.language}`;
  return terminal.kind === 'token' ? `token ${terminal.id}` : `but ${[...terminal.except].join(' ')}`;
}

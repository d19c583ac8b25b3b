import type { Rule } from '../grammar.ts';
import type { RuleWriter } from './rule-writer.ts';
import { type Cell, cellsOf, memberTerm, namesOf } from './members.ts';
import {
  type MemberOrder,
  type MemberRules,
  type MemberState,
  MemberStates,
  runsIn,
} from './member-states.ts';
import { ANY_TEXT, both, choice, not, text } from './regexes.ts';
import { sequenceRule, NO_TEXT_RULE, choiceRule, reference, terminal } from './rules.ts';
import { isFalse, type Objects, type Term } from './shapes.ts';
import { textsRegex } from './strings.ts';

const MAX_LISTED = 32;
const MAX_FREE_STATES = 2048;
const MAX_STATES = 20_000;
const UNCOUNTED = { min: 0, max: Infinity };

/** Writes the rules for a set of objects. */
export class ObjectRules {
  readonly #objects: Objects;
  readonly #name: string;
  readonly #writer: RuleWriter;
  /** The possible members, by name. */
  readonly #members = new Map<string, Term>();
  readonly #required: Set<string>;
  #cells: Cell[] = [];
  #isLimited = false;

  constructor(objects: Objects, name: string, writer: RuleWriter) {
    this.#objects = objects;
    this.#name = name;
    this.#writer = writer;
    this.#required = new Set(objects.required);
  }

  /** The rule to use for the objects in other rules. */
  rule(): Rule {
    this.#collect();
    const { min, max, dependent } = this.#objects;
    const needs = this.#settle(dependent);
    for (const name of this.#required) if (!this.#members.has(name)) return NO_TEXT_RULE;
    const isClosed = this.#cells.length === 0;
    if (isClosed && this.#members.size < min) return NO_TEXT_RULE;
    const isWhole = isClosed && this.#members.size <= max;
    const counts = { min: this.#required.size >= min ? 0 : min, max: isWhole ? Infinity : max };
    const order = this.#order();
    const names = [...order.chains.flat(), ...order.free];
    const inOneOrder = { chains: [names], free: [] };
    if (needs.length === 0 && order.chains.length <= 1 && order.free.length === 0)
      return this.#ordered(names, counts);
    const rules = { required: this.#required, needs, ...counts, isOpen: !isClosed };
    const mixed = this.#states(order, rules, MAX_FREE_STATES, this.#writer.mixing);
    if (mixed) return mixed;
    if (needs.length === 0) return this.#ordered(names, counts);
    return (
      this.#states(inOneOrder, rules, MAX_STATES) ??
      this.#writer.fuel.refuse('an object has too many members whose number is counted')
    );
  }

  /** The rules of all states between members; undefined when there are too many. */
  #states(order: MemberOrder, rules: MemberRules, most: number, steps?: { left: number }): Rule | undefined {
    const runs = runsIn(order, rules);
    const isNeeded = ([first, names]: readonly [string, readonly string[]]): boolean =>
      rules.required.has(first) || names.some((name) => rules.required.has(name));
    const required = new Set([...rules.required, ...[...runs].filter(isNeeded).map(([first]) => first)]);
    const later = new Set([...runs.values()].flatMap((names) => names.slice(1)));
    const chains = order.chains.map((chain) => chain.filter((name) => !later.has(name)));
    const states = new MemberStates({ ...rules, required }).explore({ ...order, chains }, most, steps);
    return states && this.#write(states, runs);
  }

  #collect(): void {
    const { expander } = this.#writer;
    const { languages } = expander;
    const objects = this.#objects;
    const limits = objects.names.map((term) => choice(...expander.values(term).strings.map(textsRegex)));
    const language = both(...limits);
    const named = namesOf(objects);
    expander.fuel.spend(named.size * objects.groups.length);
    for (const name of named) {
      if (language !== ANY_TEXT && !languages.matches(language, name)) continue;
      const term = memberTerm(objects, name, languages);
      if (!isFalse(term)) this.#members.set(name, term);
    }
    const others = named.size === 0 ? language : both(language, not(choice(...Array.from(named, text))));
    const cells =
      cellsOf(objects, others, languages) ?? expander.fuel.refuse('too many patterns of names overlap');
    // A language that only excludes some names is never empty.
    this.#isLimited = language !== ANY_TEXT || objects.groups.some(({ patterns }) => patterns.length > 0);
    for (const cell of cells) {
      const few = this.#isLimited ? languages.texts(cell.language, MAX_LISTED) : undefined;
      if (!few) this.#cells.push(cell);
      for (const name of few ?? []) this.#members.set(name, cell.term);
    }
  }

  /** Resolves the dependencies of members that are required or impossible; returns the rest. */
  #settle(pairs: Objects['dependent']): (readonly [string, string])[] {
    for (let before = Number.NaN; before !== this.#required.size - this.#members.size;) {
      before = this.#required.size - this.#members.size;
      for (const [name, needed] of pairs) {
        if (this.#required.has(name)) this.#required.add(needed);
        if (!this.#members.has(needed) && !this.#required.has(name)) this.#members.delete(name);
      }
    }
    return pairs.filter(
      ([name, needed]) => this.#members.has(name) && !this.#required.has(needed) && name !== needed,
    );
  }

  /** The names of a group keep their order; groups may interleave, and unlisted names come anywhere. */
  #order(): MemberOrder {
    const placed = new Set<string>();
    const chains: string[][] = [];
    for (const { named, isSilent, isUnordered } of this.#objects.groups) {
      if (isSilent === true || isUnordered === true) continue;
      const chain = [...named.keys()].filter((name) => this.#members.has(name) && !placed.has(name));
      for (const name of chain) placed.add(name);
      if (chain.length > 0) chains.push(chain);
    }
    return { chains, free: [...this.#members.keys()].filter((name) => !placed.has(name)) };
  }

  /** The rule after the first member and its value, for objects that are described only by their members. */
  behind(first: string): Rule {
    this.#collect();
    this.#members.delete(first);
    this.#required.delete(first);
    const { spacing } = this.#writer;
    const close = terminal(spacing.close('}'));
    const some = this.#some([...this.#members.keys()], UNCOUNTED, this.#another());
    const more = sequenceRule(terminal(spacing.comma), some, close);
    const whole = choiceRule(this.#required.size === 0 ? close : NO_TEXT_RULE, more);
    return this.#cells.length > 0 ? { kind: 'scope', part: whole } : whole;
  }

  /** Members in a fixed order, followed by others. */
  #ordered(names: readonly string[], counts: { min: number; max: number }): Rule {
    const { spacing } = this.#writer;
    const empty = counts.min === 0 && this.#required.size === 0 ? terminal(text('}')) : NO_TEXT_RULE;
    const whole = sequenceRule(
      terminal(spacing.open('{')),
      choiceRule(
        empty,
        sequenceRule(this.#some(names, counts, this.#another()), terminal(spacing.close('}'))),
      ),
    );
    return this.#cells.length > 0 ? { kind: 'scope', part: whole } : whole;
  }

  /** One or more members within the counts, followed by others. */
  #some(names: readonly string[], { min, max }: { min: number; max: number }, another: Rule): Rule {
    const { spacing } = this.#writer;
    const members = names.map((name) => ({
      text: JSON.stringify(name),
      value: this.#writer.memberOf(this.#members.get(name) as Term),
      isRequired: this.#required.has(name),
    }));
    const other = another === NO_TEXT_RULE ? undefined : another;
    return max === 0 || (names.length === 0 && !other)
      ? NO_TEXT_RULE
      : { kind: 'members', members, other, separator: terminal(spacing.comma), min, max };
  }

  /** `runs` are members that form one step, by their first name. */
  #write(states: readonly MemberState[], runs: ReadonlyMap<string, readonly string[]>): Rule {
    const { spacing } = this.#writer;
    const comma = terminal(spacing.comma);
    const close = terminal(spacing.close('}'));
    const name = (at: number): string => `${this.#name}.${at}`;
    const another = this.#another();
    const written = new Map<string, Rule>();
    const member = (key: string): Rule => {
      let rule = written.get(key);
      if (!rule) {
        // Written as members: with literal names the lexer would match them together with a compared key, and masks for
        // that are slow.
        const members = this.#some(runs.get(key) ?? [key], UNCOUNTED, NO_TEXT_RULE);
        rule = this.#writer.define(`${this.#name}.m${written.size}`, members);
        written.set(key, rule);
      }
      return rule;
    };
    for (const [at, state] of states.entries()) {
      const lead = (rule: Rule): Rule => (state.isStarted ? sequenceRule(comma, rule) : rule);
      const parts: Rule[] = state.steps.map(({ take, to }) => {
        return take === undefined
          ? reference(name(to))
          : sequenceRule(lead(member(take)), reference(name(to)));
      });
      if (state.another !== undefined)
        parts.push(sequenceRule(lead(another), reference(name(state.another))));
      if (state.ends) parts.push(this.#end(state.ends, state.isStarted, another, comma, close));
      this.#writer.define(name(at), choiceRule(...parts));
    }
    const whole = sequenceRule(terminal(spacing.open('{')), reference(name(0)));
    return this.#cells.length > 0 ? { kind: 'scope', part: whole } : whole;
  }

  /** The end of an object, after a bounded number of other members. */
  #end(
    { min, max }: { min: number; max: number },
    isStarted: boolean,
    another: Rule,
    comma: Rule,
    close: Rule,
  ): Rule {
    const more = (from: number, to: number): Rule =>
      to === 0
        ? close
        : sequenceRule({ kind: 'repeat', part: sequenceRule(comma, another), min: from, max: to }, close);
    if (isStarted) return more(min, max);
    const empty = min === 0 ? terminal(text('}')) : NO_TEXT_RULE;
    return max === 0 ? empty : choiceRule(empty, sequenceRule(another, more(Math.max(min, 1) - 1, max - 1)));
  }

  /** A member with a name that is not listed. */
  #another(): Rule {
    const of = ({ language, term }: Cell): Rule => {
      const key = this.#writer.spelling.quoted(language);
      if (!this.#isLimited) this.#writer.someText.add(key);
      return sequenceRule({ kind: 'distinct', regex: key }, this.#writer.memberOf(term));
    };
    return choiceRule(...this.#cells.map(of));
  }
}

import type { Rule } from '../grammar.ts';
import { negation } from './terms.ts';
import type { RuleWriter } from './rule-writer.ts';
import { sequenceRule, NO_TEXT_RULE, choiceRule, reference, terminal, repeatRule } from './rules.ts';
import {
  allOf,
  type Arrays,
  type ContainedItems,
  isFalse,
  itemAt,
  prefixLength,
  type Term,
} from './shapes.ts';
import { text } from './regexes.ts';
import { uniqueLength } from './unique-items.ts';

const MAX_STATES = 4096;
const MAX_CONTAINS = 4;

/** What is known of an array's items so far: how many there are, and how many of each kind that it must contain. */
interface Seen {
  readonly length: number;
  readonly counts: readonly number[];
}

/** Writes the rules for a set of arrays. */
export class ArrayRules {
  readonly #arrays: Arrays;
  readonly #name: string;
  readonly #writer: RuleWriter;
  readonly #comma: Rule;
  readonly #close: Rule;
  #max: number;

  constructor(arrays: Arrays, name: string, writer: RuleWriter) {
    this.#arrays = arrays;
    this.#name = name;
    this.#writer = writer;
    this.#comma = terminal(writer.spacing.comma);
    this.#close = terminal(writer.spacing.close(']'));
    this.#max = arrays.max;
  }

  /** The rule to use for the arrays in other rules. */
  rule(): Rule {
    const { unique, min } = this.#arrays;
    const isUnique = unique !== undefined && this.#max > 1;
    if (isUnique) this.#max = Math.min(this.#max, uniqueLength(this.#arrays, unique, this.#writer.expander));
    if (min > this.#max) return NO_TEXT_RULE;
    const contains = this.#arrays.contains.filter((items) => items.min > 0 || items.max < Infinity);
    if (contains.some((items) => items.min > items.max)) return NO_TEXT_RULE;
    const inside = contains.length === 0 ? this.#plain() : this.#containing(contains);
    const whole = sequenceRule(terminal(this.#writer.spacing.open('[')), inside);
    return isUnique ? { kind: 'scope', part: whole } : whole;
  }

  /** An item that satisfies a term; with `uniqueItems`, a `distinct` terminal compares its spelling. */
  #item(term: Term): Rule {
    const { unique } = this.#arrays;
    if (unique === undefined || this.#max <= 1) return this.#writer.ruleOf(term);
    const regex = this.#writer.scalars(this.#writer.expander.values(term), true);
    return regex.kind === 'never' ? NO_TEXT_RULE : { kind: 'distinct', regex };
  }

  /** The items after the opening bracket and the closing one: first the prefix, then the others. */
  #plain(): Rule {
    const { min } = this.#arrays;
    const max = this.#max;
    const length = Math.min(prefixLength(this.#arrays), max);
    const rest = length < max ? this.#item(itemAt(this.#arrays, length)) : NO_TEXT_RULE;
    const following = (from: number, to: number): Rule =>
      to <= 0 || rest === NO_TEXT_RULE
        ? from > 0
          ? NO_TEXT_RULE
          : this.#close
        : sequenceRule(repeatRule(sequenceRule(this.#comma, rest), from, to), this.#close);
    const empty = min === 0 ? terminal(text(']')) : NO_TEXT_RULE;
    if (length === 0) return choiceRule(empty, sequenceRule(rest, following(Math.max(min, 1) - 1, max - 1)));
    let behind = following(Math.max(0, min - length), max - length);
    for (let at = length - 1; at >= 0; at--) {
      const item = this.#item(itemAt(this.#arrays, at));
      const end = at >= min ? (at === 0 ? empty : this.#close) : NO_TEXT_RULE;
      const more = at === 0 ? sequenceRule(item, behind) : sequenceRule(this.#comma, item, behind);
      behind = this.#writer.define(`${this.#name}.${at}`, choiceRule(end, more));
    }
    return behind;
  }

  /** Items of which some must be of certain kinds: one state for each distinguishable length and counts. */
  #containing(contains: readonly ContainedItems[]): Rule {
    if (contains.length > MAX_CONTAINS)
      this.#writer.fuel.refuse(`an array has to contain more than ${MAX_CONTAINS} kinds of items`);
    const open: Seen[] = [];
    const names = new Map<string, string>();
    const nameOf = (seen: Seen): string => {
      const key = JSON.stringify(seen);
      let name = names.get(key);
      if (name === undefined) {
        name = `${this.#name}.c${names.size}`;
        names.set(key, name);
        open.push(seen);
        if (names.size > MAX_STATES)
          this.#writer.fuel.refuse('the items that an array has to contain are counted too far');
      }
      return name;
    };
    const first = nameOf({ length: 0, counts: contains.map(() => 0) });
    for (let at = 0; at < open.length; at++) {
      const seen = open[at] as Seen;
      this.#writer.define(nameOf(seen), choiceRule(...this.#steps(seen, contains, nameOf)));
    }
    return reference(first);
  }

  #steps(
    { length, counts }: Seen,
    contains: readonly ContainedItems[],
    nameOf: (seen: Seen) => string,
  ): Rule[] {
    const { min } = this.#arrays;
    const max = this.#max;
    const rules: Rule[] = [];
    const isEnough = contains.every((items, which) => (counts[which] ?? 0) >= items.min);
    if (length >= min && isEnough) rules.push(length === 0 ? terminal(text(']')) : this.#close);
    if (length >= max) return rules;
    const countedTo = max < Infinity ? max : Math.max(min, prefixLength(this.#arrays), 1);
    const own = itemAt(this.#arrays, length);
    for (const { terms, counts: next } of this.#kinds(contains, counts)) {
      const term = allOf([own, ...terms]);
      if (isFalse(term)) continue;
      const item = this.#item(term);
      const state = reference(nameOf({ length: Math.min(length + 1, countedTo), counts: next }));
      rules.push(length === 0 ? sequenceRule(item, state) : sequenceRule(this.#comma, item, state));
    }
    return rules;
  }

  /** The sets of kinds that the next item may belong to, with the resulting counts. */
  #kinds(
    contains: readonly ContainedItems[],
    counts: readonly number[],
  ): { terms: Term[]; counts: number[] }[] {
    let kinds: { terms: Term[]; counts: number[] }[] = [{ terms: [], counts: [] }];
    for (const [which, { term, min, max }] of contains.entries()) {
      const count = counts[which] ?? 0;
      const isOfNoMatter = max === Infinity && count >= min;
      kinds = kinds.flatMap(({ terms, counts: before }) => {
        const out = max === Infinity ? terms : [...terms, negation(term, this.#writer.expander)];
        const without = { terms: out, counts: [...before, count] };
        if (isOfNoMatter || count >= max) return [without];
        return [{ terms: [...terms, term], counts: [...before, count + 1] }, without];
      });
    }
    return kinds;
  }
}

import type { Grammar, Regex, Rule } from '../../../src/grammar/index.ts';
import { endsOf } from './naive-regex.ts';
import fc from '../fast-check.ts';

/** Where a part may end, and the texts of its scope by then (JSON of a sorted list). */
type End = `${number}|${string}`;

/**
 * Recognizes a text by the definition of each kind of rule: what a rule matches from a position is the least fixed
 * point of all rules, found by evaluating them repeatedly until nothing changes.
 */
export class NaiveRecognizer {
  readonly #text: readonly string[];
  readonly #ends = new Map<string, Set<End>>();
  readonly #ids = new Map<Rule, number>();
  #hasChanged = false;

  constructor(text: string) {
    this.#text = Array.from(text);
  }

  matches(grammar: Grammar): boolean {
    const root: Rule = { kind: 'grammar', grammar };
    do {
      this.#hasChanged = false;
      this.#asked.clear();
      this.#of(root, grammar, 0, '[]');
    } while (this.#hasChanged);
    return [...this.#of(root, grammar, 0, '[]')].some((end) => placeOf(end) === this.#text.length);
  }

  readonly #asked = new Set<string>();
  readonly #texts = new Map<string, Rule>();

  #of(rule: Rule, grammar: Grammar, start: number, memory: string): ReadonlySet<End> {
    let id = this.#ids.get(rule);
    if (id === undefined) this.#ids.set(rule, (id = this.#ids.size));
    const key = `${id} ${start} ${memory}`;
    const known = this.#ends.get(key) ?? new Set<End>();
    this.#ends.set(key, known);
    if (this.#asked.has(key)) return known;
    this.#asked.add(key);
    for (const end of this.#compute(rule, grammar, start, memory)) {
      if (known.has(end)) continue;
      known.add(end);
      this.#hasChanged = true;
    }
    return known;
  }

  #compute(rule: Rule, grammar: Grammar, start: number, memory: string): Iterable<End> {
    switch (rule.kind) {
      case 'regex':
        return [...endsOf(rule.regex, this.#text, start)].map((end): End => `${end}|${memory}`);
      case 'token':
        return this.#compute(
          { kind: 'regex', regex: { kind: 'text', text: rule.text } },
          grammar,
          start,
          memory,
        );
      case 'token-id':
      case 'any-token':
        throw new Error('texts have no token ids');
      case 'sequence':
        return rule.parts.reduce<Iterable<End>>(
          (ends, part) => this.#after(part, grammar, ends),
          [`${start}|${memory}`],
        );
      case 'choice':
        return rule.parts.flatMap((part) => [...this.#of(part, grammar, start, memory)]);
      case 'repeat':
        return this.#repeated(rule, grammar, start, memory);
      case 'reference':
        return this.#of(grammar.rules.get(rule.name) as Rule, grammar, start, memory);
      case 'grammar':
        return this.#of(rule.grammar.rules.get(rule.grammar.root) as Rule, rule.grammar, start, memory);
      case 'later': {
        const later = rule.grammar();
        return this.#of(later.rules.get(later.root) as Rule, later, start, memory);
      }
      case 'distinct':
        return this.#distinct(rule.regex, start, memory);
      case 'members':
        return this.#members(rule, grammar, 0, 0, [`${start}|${memory}`]);
      case 'scope':
        return [...this.#of(rule.part, grammar, start, '[]')].map((end): End => `${placeOf(end)}|${memory}`);
    }
  }

  #distinct(regex: Regex, start: number, memory: string): End[] {
    const before = JSON.parse(memory) as string[];
    return [...endsOf(regex, this.#text, start)].flatMap((end): End[] => {
      const text = this.#text.slice(start, end).join('');
      return before.includes(text) ? [] : [`${end}|${JSON.stringify([...before, text].sort())}`];
    });
  }

  /** The ends after `count` members, when the next one has this index or comes after the last. */
  #members(
    rule: Rule & { kind: 'members' },
    grammar: Grammar,
    index: number,
    count: number,
    starts: Iterable<End>,
  ): Set<End> {
    const { members, other, separator, min, max } = rule;
    const ends = new Set<End>();
    const left = members.slice(index);
    const isThrough = !left.some(({ isRequired }) => isRequired);
    if (count > 0 && count >= min && isThrough) for (const end of starts) ends.add(end);
    if (count >= max || count > this.#text.length + 2) return ends;
    const begun = [...(count > 0 ? this.#after(separator, grammar, starts) : starts)];
    if (begun.length === 0) return ends;
    const then = (parts: readonly Rule[], next: number): void => {
      const behind = parts.reduce<Iterable<End>>((from, part) => this.#after(part, grammar, from), begun);
      for (const end of this.#members(rule, grammar, next, count + 1, behind)) ends.add(end);
    };
    if (other && isThrough) then([other], members.length);
    for (const [at, { text, value, isRequired }] of left.entries()) {
      const own: Rule = this.#texts.get(text) ?? { kind: 'regex', regex: { kind: 'text', text } };
      this.#texts.set(text, own);
      then([own, value], index + at + 1);
      if (isRequired) break;
    }
    return ends;
  }

  #repeated(rule: Rule & { kind: 'repeat' }, grammar: Grammar, start: number, memory: string): Set<End> {
    const ends = new Set<End>();
    let starts = new Set<End>([`${start}|${memory}`]);
    const rounds = Math.min(rule.max, rule.min + this.#text.length + 1);
    for (let round = 0; round <= rounds; round++) {
      if (round >= rule.min) for (const end of starts) ends.add(end);
      starts = this.#after(rule.part, grammar, starts);
    }
    return ends;
  }

  #after(part: Rule, grammar: Grammar, starts: Iterable<End>): Set<End> {
    return new Set(
      [...starts].flatMap((start) => [
        ...this.#of(part, grammar, placeOf(start), start.slice(start.indexOf('|') + 1)),
      ]),
    );
  }
}

function placeOf(end: End): number {
  return Number.parseInt(end, 10);
}

const regex: fc.Arbitrary<Regex> = fc.constantFrom<Regex>(
  { kind: 'text', text: '' },
  { kind: 'text', text: 'a' },
  { kind: 'text', text: 'b' },
  { kind: 'text', text: 'ab' },
  { kind: 'set', ranges: [[0x61, 0x62]] },
  { kind: 'repeat', part: { kind: 'set', ranges: [[0x61, 0x62]] }, min: 0, max: 2 },
  { kind: 'repeat', part: { kind: 'text', text: 'a' }, min: 1, max: Infinity },
  {
    kind: 'both',
    parts: [
      { kind: 'repeat', part: { kind: 'set', ranges: [[0x61, 0x62]] }, min: 1, max: 3 },
      { kind: 'not', part: { kind: 'text', text: 'ab' } },
    ],
  },
);

const NAMES = ['A', 'B', 'C'];

const rule = fc.letrec<{ rule: Rule }>((tie) => ({
  rule: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    regex.map((of): Rule => ({ kind: 'regex', regex: of })),
    fc.constantFrom(...NAMES).map((name): Rule => ({ kind: 'reference', name })),
    fc
      .tuple(
        fc.constantFrom('sequence', 'choice', 'sequence'),
        fc.array(tie('rule'), { minLength: 1, maxLength: 3 }),
      )
      .map(([kind, parts]): Rule => ({ kind: kind as 'sequence' | 'choice', parts })),
    fc
      .tuple(tie('rule'), fc.nat(2), fc.constantFrom(0, 1, 2, Infinity))
      .map(([part, min, more]): Rule => ({ kind: 'repeat', part, min, max: min + more })),
    regex
      .filter((of) => of.kind !== 'repeat' || of.min > 0)
      .filter((of) => of.kind !== 'text' || of.text !== '')
      .map((of): Rule => ({ kind: 'distinct', regex: of })),
    tie('rule').map((part): Rule => ({ kind: 'scope', part })),
    fc
      .record({
        members: fc
          .subarray(['ba', 'a', 'bb'])
          .chain((texts) =>
            fc.tuple(
              ...texts.map((text) =>
                fc.record({ text: fc.constant(text), value: tie('rule'), isRequired: fc.boolean() }),
              ),
            ),
          ),
        other: fc.option(tie('rule'), { nil: undefined }),
        separator: tie('rule'),
        min: fc.nat(2),
        more: fc.constantFrom(0, 1, 2, Infinity),
      })
      .map(({ more, ...of }): Rule => ({ kind: 'members', ...of, max: of.min + more })),
    fc.constant<Rule>({ kind: 'token', text: 'ba' }),
  ),
})).rule;

/** Small grammars of every kind of rule over the letters a and b, with arbitrary references between rules. */
export const smallGrammar: fc.Arbitrary<Grammar> = fc
  .tuple(rule, rule, rule)
  .map((rules) => ({ root: 'A', rules: new Map(rules.map((of, i) => [NAMES[i] as string, of])) }));

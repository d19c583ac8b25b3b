import type { Fuel } from '../fuel.ts';
import type { Grammar, Rule } from '../grammar.ts';
import type { Regex } from '../regex/regex.ts';
import { ArrayRules } from './emit-array.ts';
import { ObjectRules } from './emit-object.ts';
import type { Expander } from './expand.ts';
import { anyStringRegex, JsonSpelling } from './json-string.ts';
import { numberRegex } from './number-regex.ts';
import { isSurelyWritten, isTooFine, type Numbers } from './numbers.ts';
import { choice, text } from './regexes.ts';
import type { RuleWriter } from './rule-writer.ts';
import { inOrder, oneOf, reference, terminal } from './rules.ts';
import type { Term, Values } from './shapes.ts';
import type { Spacing } from './spacing.ts';
import { type Texts, textsRegex } from './strings.ts';

/** Writes the rules of terms, each once: a schema that refers to itself becomes a rule that does. */
export class Emitter implements RuleWriter {
  readonly expander: Expander;
  readonly spacing: Spacing;
  readonly #rules = new Map<string, Rule>();
  readonly #made = new Map<string, Rule>();
  readonly #regexes = new Map<string, Regex>();
  readonly #ids = new Map<Regex, number>();
  readonly spelling = new JsonSpelling();
  /** Terminals that are known to have a text. */
  readonly someText = new Set<Regex>();
  readonly #open: { name: string; term: Term }[] = [];

  constructor(expander: Expander, spacing: Spacing) {
    this.expander = expander;
    this.spacing = spacing;
  }

  get fuel(): Fuel {
    return this.expander.fuel;
  }

  /** The grammar of what satisfies a term. */
  grammar(term: Term): Grammar {
    const around = terminal(this.spacing.around);
    this.define('root', inOrder(around, this.ruleOf(term), around));
    for (let next = this.#open.pop(); next; next = this.#open.pop()) {
      const { name, term: of } = next;
      const values = this.expander.values(of);
      const { arrays, objects } = values;
      this.define(
        name,
        oneOf(
          terminal(this.scalars(values)),
          ...objects.map((set, at) => new ObjectRules(set, `${name}.o${at}`, this).rule()),
          ...arrays.map((set, at) => new ArrayRules(set, `${name}.a${at}`, this).rule()),
        ),
      );
    }
    return { root: 'root', rules: this.#rules };
  }

  /** What stands for a term in other rules. */
  ruleOf(term: Term): Rule {
    let rule = this.#made.get(term.key);
    if (!rule) {
      const values = this.expander.values(term);
      if (values.arrays.length === 0 && values.objects.length === 0) rule = terminal(this.scalars(values));
      else {
        const name = `v${this.#made.size}`;
        rule = reference(name);
        this.#open.push({ name, term });
      }
      this.#made.set(term.key, rule);
    }
    return rule;
  }

  /** Gives a rule its name. */
  define(name: string, rule: Rule): Rule {
    this.fuel.spend(4);
    this.#rules.set(name, rule);
    return reference(name);
  }

  /** What is neither array nor object of a set; where `isCanonical`, one spelling a value. */
  scalars({ words, numbers, strings }: Values, isCanonical = false): Regex {
    const key = JSON.stringify([
      isCanonical,
      [...words],
      numbers.map(keyOf),
      strings.map((set) => this.#keyOfTexts(set)),
    ]);
    return this.#once(key, () =>
      choice(
        ...Array.from(words, text),
        ...numbers.map((set) => this.#numbers(set, isCanonical)),
        ...strings.map((set) => this.#strings(set, isCanonical)),
      ),
    );
  }

  #numbers(set: Numbers, isCanonical: boolean): Regex {
    if (isTooFine(set))
      this.fuel.refuse('numbers that are no multiples of one have too many remainders to tell apart');
    return this.#once(`${isCanonical} ${keyOf(set)}`, () => {
      const regex = numberRegex(set, isCanonical);
      if (isSurelyWritten(set)) this.someText.add(regex);
      return regex;
    });
  }

  #strings(set: Texts, isCanonical: boolean): Regex {
    if (set.kind === 'list' || set.languages.length > 0 || isCanonical)
      return this.spelling.quoted(textsRegex(set));
    return this.#once(`${set.min} ${set.max}`, () => anyStringRegex(set.min, set.max));
  }

  #keyOfTexts(set: Texts): unknown {
    if (set.kind === 'list') return [...set.values];
    return { min: set.min, max: String(set.max), languages: set.languages.map((one) => this.#idOf(one)) };
  }

  #idOf(language: Regex): number {
    const id = this.#ids.get(language) ?? this.#ids.size;
    this.#ids.set(language, id);
    return id;
  }

  /** Sets that are alike share one regex, which is compiled once. */
  #once(key: string, make: () => Regex): Regex {
    let regex = this.#regexes.get(key);
    if (!regex) {
      regex = make();
      this.#regexes.set(key, regex);
    }
    return regex;
  }
}

function keyOf(set: Numbers): string {
  if (set.kind === 'list') return JSON.stringify([...set.values]);
  return JSON.stringify({ ...set, without: [...set.without] }, (_, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );
}

import type { Fuel } from '../fuel.ts';
import type { Grammar, Rule } from '../grammar.ts';
import type { Regex } from '../regex/regex.ts';
import { ArrayRules } from './emit-array.ts';
import { ObjectRules } from './emit-object.ts';
import type { Expander } from './expand.ts';
import { numberRegex } from './number-regex.ts';
import { choice, text } from './regexes.ts';
import type { RuleWriter } from './rule-writer.ts';
import { inOrder, oneOf, reference, terminal } from './rules.ts';
import type { Term, Values } from './shapes.ts';
import type { Spacing } from './spacing.ts';
import { textsJson } from './strings.ts';

/** Writes the rules of terms, each once: a schema that refers to itself becomes a rule that does. */
export class Emitter implements RuleWriter {
  readonly expander: Expander;
  readonly spacing: Spacing;
  readonly #rules = new Map<string, Rule>();
  readonly #made = new Map<string, Rule>();
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
    return choice(
      ...Array.from(words, text),
      ...numbers.map((set) => numberRegex(set, isCanonical)),
      ...strings.map((set) => textsJson(set, isCanonical)),
    );
  }
}

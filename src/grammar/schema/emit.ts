import { Fuel } from '../fuel.ts';
import type { Grammar, Rule } from '../grammar.ts';
import type { Regex } from '../regex/regex.ts';
import { ArrayRules } from './emit-array.ts';
import { ObjectRules } from './emit-object.ts';
import type { Expander } from './expand.ts';
import type { JsonSpelling } from './json-string.ts';
import { PlainSchemas } from './plain.ts';
import type { RuleWriter } from './rule-writer.ts';
import { sequenceRule, EMPTY_TEXT_RULE, choiceRule, reference, terminal } from './rules.ts';
import { ScalarRegexes } from './scalars.ts';
import type { Objects, Term, Values } from './shapes.ts';
import type { Spacing } from './spacing.ts';
import { taggedObjects, taggedRule } from './tagged-objects.ts';

/** Shared by all grammars of a schema: that of its root and those of terms that are written on demand. */
export class SchemaRules {
  readonly expander: Expander;
  readonly spacing: Spacing;
  readonly scalars = new ScalarRegexes();
  readonly mixing = { left: MAX_MIXED };
  readonly #plain: PlainSchemas;
  readonly #colon: Rule;
  /** The rules written on demand, by term, as a value alone and as a member's value; for scalars, by content. */
  readonly #laters = { value: new Map<string, Rule>(), member: new Map<string, Rule>() };
  readonly #scalars = { value: new Map<string, Rule>(), member: new Map<string, Rule>() };

  constructor(expander: Expander, spacing: Spacing) {
    this.expander = expander;
    this.spacing = spacing;
    this.#plain = new PlainSchemas(expander);
    this.#colon = terminal(spacing.colon);
  }

  /**
   * The rule of a term that is written when the text reaches it, or of a member's colon and such a value. Undefined for
   * a term that must be written to find out whether it is supported and satisfiable.
   */
  later(term: Term, as: 'value' | 'member'): Rule | undefined {
    let rule = this.#laters[as].get(term.key);
    if (rule) return rule;
    const kind = this.#plain.kindOf(term);
    if (!kind) return undefined;
    rule = kind === 'scalar' ? this.#laterScalar(term, as) : this.#written(term, as);
    this.#laters[as].set(term.key, rule);
    return rule;
  }

  /** Equal scalars share a rule, whichever terms they come from. */
  #laterScalar(term: Term, as: 'value' | 'member'): Rule {
    const key = this.#plain.textOf(term) ?? this.scalars.keyOf(this.expander.values(term));
    const rule = this.#scalars[as].get(key) ?? this.#written(term, as);
    this.#scalars[as].set(key, rule);
    return rule;
  }

  #written(term: Term, as: 'value' | 'member'): Rule {
    const before = as === 'member' ? this.#colon : EMPTY_TEXT_RULE;
    return this.written((writer) => writer.grammar(term, { before }));
  }

  /** The colon before a member's value. */
  get colon(): Rule {
    return this.#colon;
  }

  /** A rule that is written once, when the text reaches it; the work is bounded like that of a plain schema. */
  written(write: (writer: Emitter) => Grammar): Rule {
    let grammar: Grammar | undefined;
    const make = (): Grammar => {
      this.expander.refuel(new Fuel('a part of the schema', { units: PLAIN_UNITS }));
      return write(new Emitter(this));
    };
    return { kind: 'later', grammar: () => (grammar ??= make()) };
  }

  /** True for a term that `later` accepts. */
  isPlain(term: Term): boolean {
    return this.#plain.kindOf(term) !== undefined;
  }
}

const PLAIN_UNITS = 250_000;
const MAX_MIXED = 10_000;

/** Writes the rules of terms, each once: a recursive schema becomes a recursive rule. */
export class Emitter implements RuleWriter {
  readonly #shared: SchemaRules;
  readonly #rules = new Map<string, Rule>();
  readonly #made = new Map<string, Rule>();
  /** By a value's rule: the same after a colon. */
  readonly #members = new Map<Rule, Rule>();
  readonly #open: { name: string; term: Term }[] = [];

  constructor(shared: SchemaRules) {
    this.#shared = shared;
  }

  get expander(): Expander {
    return this.#shared.expander;
  }

  get spacing(): Spacing {
    return this.#shared.spacing;
  }

  get fuel(): Fuel {
    return this.expander.fuel;
  }

  get spelling(): JsonSpelling {
    return this.#shared.scalars.spelling;
  }

  get mixing(): { left: number } {
    return this.#shared.mixing;
  }

  get someText(): Set<Regex> {
    return this.#shared.scalars.someText;
  }

  /** The grammar of the values that satisfy a term. */
  grammar(term: Term, { before = EMPTY_TEXT_RULE, behind = EMPTY_TEXT_RULE }): Grammar {
    return this.#whole(sequenceRule(before, this.#ownRule(term), behind));
  }

  /** A grammar with this root and all rules that it references. */
  #whole(root: Rule): Grammar {
    this.define('root', root);
    for (let next = this.#open.pop(); next; next = this.#open.pop()) {
      const { name, term: of } = next;
      const values = this.expander.values(of);
      const { arrays, objects } = values;
      this.define(
        name,
        choiceRule(
          terminal(this.scalars(values)),
          ...this.#objects(objects, name),
          ...arrays.map((set, at) => new ArrayRules(set, `${name}.a${at}`, this).rule()),
        ),
      );
    }
    return { root: 'root', rules: this.#rules };
  }

  /** Objects that a member distinguishes are written when that member has been read. */
  #objects(sets: readonly Objects[], name: string): Rule[] {
    const isPlain = (term: Term): boolean => this.#shared.isPlain(term);
    const { tag, tagged, others } = taggedObjects(sets, this.expander, isPlain);
    const rules = others.map((set, at) => new ObjectRules(set, `${name}.o${at}`, this).rule());
    if (tag === undefined) return rules;
    const behind = (set: Objects): Rule =>
      this.#shared.written((writer) => writer.#whole(new ObjectRules(set, 'o', writer).behind(tag)));
    return [...rules, taggedRule(tag, tagged, behind, this.spacing)];
  }

  /** The rule to use for a term in other rules. */
  ruleOf(term: Term): Rule {
    return this.#made.get(term.key) ?? this.#shared.later(term, 'value') ?? this.#ownRule(term);
  }

  memberOf(term: Term): Rule {
    const made = this.#made.get(term.key);
    const later = made ? undefined : this.#shared.later(term, 'member');
    if (later) return later;
    const value = made ?? this.#ownRule(term);
    const member = this.#members.get(value) ?? sequenceRule(this.#shared.colon, value);
    this.#members.set(value, member);
    return member;
  }

  #ownRule(term: Term): Rule {
    let rule: Rule;
    const values = this.expander.values(term);
    if (values.arrays.length === 0 && values.objects.length === 0) rule = terminal(this.scalars(values));
    else {
      const name = `v${this.#made.size}`;
      rule = reference(name);
      this.#open.push({ name, term });
    }
    this.#made.set(term.key, rule);
    return rule;
  }

  /** Names a rule. */
  define(name: string, rule: Rule): Rule {
    this.fuel.spend(4);
    this.#rules.set(name, rule);
    return reference(name);
  }

  /** The scalars of a set; with `isCanonical`, one spelling per value. */
  scalars(values: Values, isCanonical = false): Regex {
    return this.#shared.scalars.of(values, isCanonical, this.fuel);
  }
}

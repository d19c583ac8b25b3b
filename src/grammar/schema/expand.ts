import type { Fuel } from '../fuel.ts';
import type { Regex } from '../regex/regex.ts';
import type { RegularLanguages } from '../regex/regular-languages.ts';
import { bothValues, eitherValues, isWithoutValue, listedValues, minusValues } from './algebra.ts';
import { oneOfValues } from './one-of.ts';
import type { Terms } from './terms.ts';
import { withoutName } from './objects.ts';
import type { SchemaDocument, SchemaNode } from './document.ts';
import { pointerTo } from './json-value.ts';
import { formatRegex } from './formats.ts';
import { type Keywords, readKeywords } from './keywords.ts';
import { listedScalars, literalValues } from './literals.ts';
import { invalid, refuse, type SchemaOptions } from './options.ts';
import { UnicodeProperties } from '../regex/character-ranges.ts';
import { searchRegex } from '../regex/pattern.ts';
import { ownValues } from './own-values.ts';
import { ANY_OBJECT, ANYTHING, isFalse, NOTHING, type Term, TRUE_TERM, type Values } from './shapes.ts';
import { withUnevaluatedItems, withUnevaluatedMembers } from './unevaluated.ts';

const MAX_IN_PLACE = 128;
const MAX_PROBES = 16;
/** Thrown when a question depends on a schema that is still being read. */
const UNKNOWN = Symbol('unknown');
/** Up to this many alternatives, every combination of them is tried for what it evaluates. */
const MAX_EVALUATED = 6;

/** Reads schemas as the sets of values that they describe. */
export class Expander implements Terms {
  readonly document: SchemaDocument;
  readonly languages: RegularLanguages;
  readonly options: SchemaOptions;
  #fuel: Fuel;
  readonly #terms = new Map<string, Values>();
  readonly #nodes = new Map<SchemaNode, Values>();
  readonly #keywords = new Map<SchemaNode, Keywords>();
  readonly #patterns = new Map<string, Regex>();
  readonly #formats = new Map<string, Regex>();
  readonly #properties = new UnicodeProperties((units) => this.#fuel.spend(units));
  readonly #nothing = new Map<string, boolean>();
  readonly #open = new Set<SchemaNode>();
  #probes = 0;

  constructor(document: SchemaDocument, languages: RegularLanguages, fuel: Fuel, options: SchemaOptions) {
    this.document = document;
    this.languages = languages;
    this.#fuel = fuel;
    this.options = options;
  }

  get fuel(): Fuel {
    return this.#fuel;
  }

  /** Sets the budget for the work that follows. */
  refuel(fuel: Fuel): void {
    this.#fuel = fuel;
    this.languages.languages.fuel = fuel;
  }

  /** The values that satisfy a term. */
  values(term: Term): Values {
    let values = this.#terms.get(term.key);
    if (!values) {
      values = ANYTHING;
      for (const node of term.nodes) values = bothValues(values, this.#node(node, false), this);
      this.#terms.set(term.key, values);
    }
    return values;
  }

  /** True when a term is known to be unsatisfiable; recursive questions count as unknown. */
  isNothing(term: Term): boolean {
    if (term === TRUE_TERM) return false;
    if (isFalse(term)) return true;
    const known = this.#nothing.get(term.key);
    if (known !== undefined) return known;
    // Assume it is satisfiable meanwhile: a value that contains the term has an inner one, which satisfies it sooner.
    this.#nothing.set(term.key, false);
    const isNothing = this.#probe(term, (values) => isWithoutValue(values, this));
    if (isNothing === undefined) this.#nothing.delete(term.key);
    else this.#nothing.set(term.key, isNothing);
    return isNothing ?? false;
  }

  /** The JSON of all values that satisfy a term, when they are known to be a short list. */
  literals(term: Term): ReadonlySet<string> | undefined {
    if (term === TRUE_TERM) return undefined;
    const [node] = term.nodes;
    const listed = node && term.nodes.length === 1 ? listedScalars(node.value) : undefined;
    return listed ?? this.#probe(term, listedValues);
  }

  /** Asks about the values of a term; undefined when they depend on a schema that is still being read. */
  #probe<Answer>(term: Term, ask: (values: Values) => Answer): Answer | undefined {
    if (this.#probes > MAX_PROBES || term.nodes.some((node) => this.#open.has(node))) return undefined;
    this.fuel.spend(16);
    this.#probes++;
    try {
      return ask(this.values(term));
    } catch (error) {
      if (error !== UNKNOWN) throw error;
      return undefined;
    } finally {
      this.#probes--;
    }
  }

  #node(node: SchemaNode, annotates: boolean): Values {
    if (typeof node.value === 'boolean') return node.value ? ANYTHING : NOTHING;
    const known = annotates ? undefined : this.#nodes.get(node);
    if (known) return known;
    if (this.#open.has(node)) {
      if (this.#probes > 0) throw UNKNOWN;
      invalid(node.pointer, 'the schema refers to itself without a step into the value');
    }
    if (this.#open.size > MAX_IN_PLACE)
      invalid(node.pointer, `more than ${MAX_IN_PLACE} schemas stand in each other's place`);
    this.fuel.spend(8);
    this.#open.add(node);
    try {
      const values = this.#expand(node, annotates);
      if (!annotates) this.#nodes.set(node, values);
      return values;
    } finally {
      this.#open.delete(node);
    }
  }

  #keywordsOf(node: SchemaNode): Keywords {
    let keywords = this.#keywords.get(node);
    if (!keywords) {
      keywords = readKeywords(node, {
        document: this.document,
        options: this.options,
        pattern: (source, keyword, pointer) => this.pattern(source, keyword, pointer),
        format: (name) => this.#format(name),
      });
      this.#keywords.set(node, keywords);
    }
    return keywords;
  }

  /** The texts in which a pattern is found. Throws `SCHEMA_UNSUPPORTED` and `GRAMMAR_INVALID` with its location. */
  pattern(source: string, keyword: string, pointer: string): Regex {
    let language = this.#patterns.get(source);
    if (!language) {
      const problems = {
        invalid: (reason: string) => invalid(pointer, reason),
        unsupported: (what: string) => refuse(keyword, pointer, `${what} is not supported`),
      };
      language = searchRegex(source, problems, this.#properties);
      this.#patterns.set(source, language);
    }
    return language;
  }

  /** One object per format, so that it is compiled once. */
  #format(name: string): Regex | undefined {
    const language = this.#formats.get(name) ?? formatRegex(name);
    if (language) this.#formats.set(name, language);
    return language;
  }

  /** `annotates` when an enclosing schema at the same location needs to know what it evaluates. */
  #expand(node: SchemaNode, annotates: boolean): Values {
    const keywords = this.#keywordsOf(node);
    const asks = keywords.unevaluatedItems !== undefined || keywords.unevaluatedProperties !== undefined;
    const inner = annotates || asks;
    let values = ownValues(keywords, node);
    const and = (other: Values): void => {
      values = bothValues(values, other, this);
    };
    for (const list of keywords.values) and(literalValues(list, node, this.document));
    for (const other of [...keywords.references, ...keywords.allOf]) and(this.#node(other, inner));
    if (keywords.anyOf) and(this.#any(keywords.anyOf, inner, node));
    for (const [name, schema] of keywords.dependentSchemas) {
      const present = bothValues(
        { ...ANYTHING, objects: [{ ...ANY_OBJECT, required: new Set([name]) }] },
        this.#node(schema, inner),
        this,
      );
      and({ ...ANYTHING, objects: [withoutName(name, this), ...present.objects] });
    }
    if (keywords.oneOf) values = this.#one(values, keywords.oneOf, inner, node);
    if (keywords.not) values = this.#minus(values, keywords.not, 'not', node);
    if (keywords.if) values = this.#condition(values, keywords, inner, node);
    if (asks) values = this.#unevaluated(values, keywords, node);
    return values;
  }

  #any(schemas: readonly SchemaNode[], annotates: boolean, node: SchemaNode): Values {
    const each = schemas.map((schema) => this.#node(schema, annotates));
    if (!annotates || each.length === 1) return eitherValues(each);
    if (each.length > MAX_EVALUATED) {
      refuse(
        'anyOf',
        pointerTo(node.pointer, 'anyOf'),
        `more than ${MAX_EVALUATED} alternatives beside an unevaluated keyword`,
      );
    }
    // A value that satisfies several alternatives was evaluated by all of them.
    let sets: Values[] = [];
    for (const one of each) sets = [...sets, one, ...sets.map((other) => bothValues(other, one, this))];
    return eitherValues(sets, true);
  }

  #one(base: Values, schemas: readonly SchemaNode[], annotates: boolean, node: SchemaNode): Values {
    const each = schemas.map((schema) => this.#node(schema, annotates));
    const values = oneOfValues(base, each, this);
    return (
      values ??
      refuse(
        'oneOf',
        pointerTo(node.pointer, 'oneOf'),
        'nothing shows that its alternatives exclude each other',
      )
    );
  }

  #minus(values: Values, schema: SchemaNode, keyword: string, node: SchemaNode): Values {
    const left = minusValues(values, this.#node(schema, false), this);
    return (
      left ??
      refuse(keyword, pointerTo(node.pointer, keyword), 'what it leaves cannot be said by other keywords')
    );
  }

  #condition(values: Values, keywords: Keywords, annotates: boolean, node: SchemaNode): Values {
    const { if: condition, then, else: otherwise } = keywords;
    if (!condition || (!then && !otherwise && !annotates)) return values;
    let yes = bothValues(values, this.#node(condition, annotates), this);
    if (then) yes = bothValues(yes, this.#node(then, annotates), this);
    let no = this.#minus(values, condition, 'if', node);
    if (otherwise) no = bothValues(no, this.#node(otherwise, annotates), this);
    return eitherValues([yes, no], annotates);
  }

  #unevaluated(
    values: Values,
    { unevaluatedItems, unevaluatedProperties }: Keywords,
    node: SchemaNode,
  ): Values {
    const { document } = this;
    return {
      ...values,
      arrays: unevaluatedItems
        ? values.arrays.map((set) => withUnevaluatedItems(set, unevaluatedItems, node, document))
        : values.arrays,
      objects: unevaluatedProperties
        ? values.objects.map((set) => withUnevaluatedMembers(set, unevaluatedProperties))
        : values.objects,
    };
  }
}

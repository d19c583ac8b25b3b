import type { Regex } from '../regex/regex.ts';
import type { SchemaNode } from './document.ts';
import { ANY_NUMBER, type Numbers } from './numbers.ts';
import { ANY_STRING, type Texts } from './strings.ts';

/** A conjunction of schemas: their nodes in the order of their ids, without duplicates. */
export interface Term {
  readonly key: string;
  readonly nodes: readonly SchemaNode[];
}

/** What a schema requires of an array's items: a prefix one by one, then the rest. */
export interface ItemGroup {
  readonly prefix: readonly Term[];
  readonly rest?: Term;
  /** It evaluates nothing with respect to `unevaluatedItems`. */
  readonly isSilent?: boolean;
}

/** How many items must be of a kind. */
export interface ContainedItems {
  readonly term: Term;
  readonly min: number;
  readonly max: number;
  readonly isSilent?: boolean;
}

/** A set of arrays: all groups apply. */
export interface Arrays {
  readonly groups: readonly ItemGroup[];
  readonly min: number;
  readonly max: number;
  /** Set when items must be unique: the keyword's location. */
  readonly unique?: string;
  readonly contains: readonly ContainedItems[];
}

/**
 * What a schema requires of an object's members: those listed by name, those whose name is in a language, and all
 * others.
 */
export interface MemberGroup {
  readonly named: ReadonlyMap<string, Term>;
  readonly patterns: readonly { readonly language: Regex; readonly term: Term }[];
  readonly additional?: Term;
  /** It evaluates nothing with respect to `unevaluatedProperties`. */
  readonly isSilent?: boolean;
  /** Its names come in any order, as in an `enum` or `const`. */
  readonly isUnordered?: boolean;
}

/** A set of objects: all groups apply. */
export interface Objects {
  readonly groups: readonly MemberGroup[];
  readonly required: ReadonlySet<string>;
  /** Schemas that every name must satisfy. */
  readonly names: readonly Term[];
  readonly min: number;
  readonly max: number;
  /** A member with the first name requires one with the second. */
  readonly dependent: readonly (readonly [name: string, needed: string])[];
}

/** A literal name as a value. */
export type Word = 'null' | 'true' | 'false';

/** A set of values: the union of the lists, separate for each kind of value. */
export interface Values {
  readonly words: ReadonlySet<Word>;
  readonly numbers: readonly Numbers[];
  readonly strings: readonly Texts[];
  readonly arrays: readonly Arrays[];
  readonly objects: readonly Objects[];
}

/** Every array. */
export const ANY_ARRAY: Arrays = { groups: [], min: 0, max: Infinity, contains: [] };

/** Every object. */
export const ANY_OBJECT: Objects = {
  groups: [],
  required: new Set(),
  names: [],
  min: 0,
  max: Infinity,
  dependent: [],
};

/** Every value. */
export const ANYTHING: Values = {
  words: new Set(['null', 'true', 'false']),
  numbers: [ANY_NUMBER],
  strings: [ANY_STRING],
  arrays: [ANY_ARRAY],
  objects: [ANY_OBJECT],
};

/** No value. */
export const NOTHING: Values = { words: new Set(), numbers: [], strings: [], arrays: [], objects: [] };

/** The term that every value satisfies. */
export const TRUE_TERM: Term = { key: '', nodes: [] };

/** The conjunction of schemas. */
export function termOf(nodes: readonly SchemaNode[]): Term {
  const [first] = nodes;
  if (first && nodes.length === 1) {
    return first.value === true ? TRUE_TERM : { key: String(first.id), nodes };
  }
  const some = [...new Set(nodes.filter(({ value }) => value !== true))].sort((a, b) => a.id - b.id);
  return some.length === 0 ? TRUE_TERM : { key: some.map(({ id }) => id).join(','), nodes: some };
}

/** The conjunction of terms. */
export function allOf(terms: readonly Term[]): Term {
  const some = terms.filter((term) => term !== TRUE_TERM);
  return some.length === 1 && some[0] ? some[0] : termOf(some.flatMap(({ nodes }) => nodes));
}

/** True when a term is known to be unsatisfiable. */
export function isFalse(term: Term): boolean {
  return term.nodes.some(({ value }) => value === false);
}

/** What a set of arrays requires of the item at an index. */
export function itemAt({ groups }: Arrays, index: number): Term {
  return allOf(groups.flatMap(({ prefix, rest }) => prefix[index] ?? rest ?? []));
}

/** The number of leading items with schemas of their own. */
export function prefixLength({ groups }: Arrays): number {
  return groups.reduce((most, { prefix }) => Math.max(most, prefix.length), 0);
}

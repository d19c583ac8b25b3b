import type { Regex } from '../regex/regex.ts';
import type { SchemaNode } from './document.ts';
import { ANY_NUMBER, type Numbers } from './numbers.ts';
import { ANY_STRING, type Texts } from './strings.ts';

/** Schemas that all hold for one value: their nodes in the order of their ids, each once. */
export interface Term {
  readonly key: string;
  readonly nodes: readonly SchemaNode[];
}

/** What a schema says of the items of an array: the first ones one by one, and all that follow. */
export interface ItemGroup {
  readonly prefix: readonly Term[];
  readonly rest?: Term;
  /** It evaluates nothing in the sense of `unevaluatedItems`. */
  readonly isSilent?: boolean;
}

/** How many items have to be of a kind. */
export interface ContainedItems {
  readonly term: Term;
  readonly min: number;
  readonly max: number;
  readonly isSilent?: boolean;
}

/** A set of arrays: every group holds. */
export interface Arrays {
  readonly groups: readonly ItemGroup[];
  readonly min: number;
  readonly max: number;
  /** Where no two items may be equal: the keyword's place. */
  readonly unique?: string;
  readonly contains: readonly ContainedItems[];
}

/**
 * What a schema says of the members of an object: those of a name, those whose name is in a language, and those that are neither.
 */
export interface MemberGroup {
  readonly named: ReadonlyMap<string, Term>;
  readonly patterns: readonly { readonly language: Regex; readonly term: Term }[];
  readonly additional?: Term;
  /** It evaluates nothing in the sense of `unevaluatedProperties`. */
  readonly isSilent?: boolean;
  /** Its names come in any order: those of an `enum` or `const`. */
  readonly isUnordered?: boolean;
}

/** A set of objects: every group holds. */
export interface Objects {
  readonly groups: readonly MemberGroup[];
  readonly required: ReadonlySet<string>;
  /** Schemas that every name satisfies. */
  readonly names: readonly Term[];
  readonly min: number;
  readonly max: number;
  /** A member of the first name asks for one of the second. */
  readonly dependent: readonly (readonly [name: string, needed: string])[];
}

/** A value that is a word. */
export type Word = 'null' | 'true' | 'false';

/** A set of values: the union of what is listed, each kind of value for itself. */
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

/** What every value satisfies. */
export const TRUE_TERM: Term = { key: '', nodes: [] };

/** The term of schemas that all hold. */
export function termOf(nodes: readonly SchemaNode[]): Term {
  const [first] = nodes;
  if (first && nodes.length === 1) {
    return first.value === true ? TRUE_TERM : { key: String(first.id), nodes };
  }
  const some = [...new Set(nodes.filter(({ value }) => value !== true))].sort((a, b) => a.id - b.id);
  return some.length === 0 ? TRUE_TERM : { key: some.map(({ id }) => id).join(','), nodes: some };
}

/** The term of terms that all hold. */
export function allOf(terms: readonly Term[]): Term {
  const some = terms.filter((term) => term !== TRUE_TERM);
  return some.length === 1 && some[0] ? some[0] : termOf(some.flatMap(({ nodes }) => nodes));
}

/** True where a term is known to hold for nothing. */
export function isFalse(term: Term): boolean {
  return term.nodes.some(({ value }) => value === false);
}

/** What a set of arrays says of the item at an index. */
export function itemAt({ groups }: Arrays, index: number): Term {
  return allOf(groups.flatMap(({ prefix, rest }) => prefix[index] ?? rest ?? []));
}

/** How many first items have a say of their own. */
export function prefixLength({ groups }: Arrays): number {
  return groups.reduce((most, { prefix }) => Math.max(most, prefix.length), 0);
}

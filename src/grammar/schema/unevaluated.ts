import type { SchemaDocument, SchemaNode } from './document.ts';
import {
  isFalse,
  type Arrays,
  type MemberGroup,
  type Objects,
  type Term,
  termOf,
  TRUE_TERM,
} from './shapes.ts';

/** A set of arrays, with a schema for every item that the set's schemas did not evaluate. */
export function withUnevaluatedItems(
  arrays: Arrays,
  schema: SchemaNode,
  node: SchemaNode,
  document: SchemaDocument,
): Arrays {
  const groups = arrays.groups.filter(({ isSilent }) => isSilent !== true);
  const prefix = groups.reduce((most, group) => Math.max(most, group.prefix.length), 0);
  let rest = termOf([schema]);
  if (groups.some((group) => group.rest !== undefined)) rest = TRUE_TERM;
  const contained = arrays.contains.filter(({ isSilent }) => isSilent !== true).map(({ term }) => term);
  if (rest !== TRUE_TERM && contained.length > 0) rest = anyOf([rest, ...contained], node, document);
  const before = Array.from({ length: prefix }, () => TRUE_TERM);
  return { ...arrays, groups: [...arrays.groups, { prefix: before, rest }] };
}

/** The disjunction of terms. */
function anyOf(terms: readonly Term[], node: SchemaNode, document: SchemaDocument): Term {
  if (terms.includes(TRUE_TERM)) return TRUE_TERM;
  const some = terms.filter((term) => !isFalse(term));
  const values = some.map(({ nodes }) => {
    const [first] = nodes;
    return first && nodes.length === 1 ? first.value : new Map([['allOf', nodes.map(({ value }) => value)]]);
  });
  if (values.length === 0) return termOf([document.constant(false)]);
  return termOf([document.synthetic('anyOf', values, node, some.map(({ key }) => key).join('|'))]);
}

/** A set of objects, with a schema for every member that the set's schemas did not evaluate. */
export function withUnevaluatedMembers(objects: Objects, schema: SchemaNode): Objects {
  const groups = objects.groups.filter(({ isSilent }) => isSilent !== true);
  const isAll = groups.some(({ additional }) => additional !== undefined);
  const evaluated: MemberGroup = {
    named: new Map(
      groups.flatMap(({ named }) => Array.from(named.keys(), (name) => [name, TRUE_TERM] as const)),
    ),
    patterns: groups.flatMap(({ patterns }) => patterns.map((pattern) => ({ ...pattern, term: TRUE_TERM }))),
    additional: isAll ? TRUE_TERM : termOf([schema]),
  };
  return { ...objects, groups: [...objects.groups, evaluated] };
}

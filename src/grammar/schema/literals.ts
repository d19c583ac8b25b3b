import type { SchemaDocument, SchemaNode } from './document.ts';
import { type Json, isArray, isObject } from './json-value.ts';
import {
  ANY_ARRAY,
  ANY_OBJECT,
  type Arrays,
  NOTHING,
  type Objects,
  type Term,
  termOf,
  type Values,
  type Word,
} from './shapes.ts';

/** The values that are equal to one of a list. `node` is the schema whose keyword lists them. */
export function literalValues(list: readonly Json[], node: SchemaNode, document: SchemaDocument): Values {
  const words = new Set<Word>();
  const numbers = new Set<number>();
  const strings = new Set<string>();
  const arrays: Arrays[] = [];
  const objects: Objects[] = [];
  const child = (value: Json): Term => termOf([document.literal(value, node)]);
  for (const value of list) {
    if (isArray(value)) {
      const prefix = value.map((item) => child(item));
      arrays.push({
        ...ANY_ARRAY,
        groups: [{ prefix, isSilent: true }],
        min: value.length,
        max: value.length,
      });
    } else if (isObject(value)) {
      objects.push(literalObject(value, child, document));
    } else if (typeof value === 'number') numbers.add(value);
    else if (typeof value === 'string') strings.add(value);
    else words.add(String(value) as Word);
  }
  return {
    ...NOTHING,
    words,
    numbers: numbers.size > 0 ? [{ kind: 'list', values: numbers }] : [],
    strings: strings.size > 0 ? [{ kind: 'list', values: strings }] : [],
    arrays,
    objects,
  };
}

function literalObject(
  value: ReadonlyMap<string, Json>,
  child: (member: Json) => Term,
  document: SchemaDocument,
): Objects {
  const named = new Map(Array.from(value, ([name, member]) => [name, child(member)]));
  const additional = termOf([document.constant(false)]);
  return {
    ...ANY_OBJECT,
    groups: [{ named, patterns: [], additional, isSilent: true, isUnordered: true }],
    required: new Set(value.keys()),
  };
}

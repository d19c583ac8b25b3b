import type { SchemaDocument, SchemaNode } from './document.ts';
import { type Json, type JsonObject, isArray, isObject } from './json-value.ts';
import { isAnnotation } from './keywords.ts';
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

/** The values equal to one of a list. `node` is the schema whose keyword lists them. */
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

/** The JSON of the values of a schema that only lists scalars, possibly with the type string; undefined for others. */
export function listedScalars(schema: boolean | JsonObject): ReadonlySet<string> | undefined {
  if (!isObject(schema)) return undefined;
  let list: readonly Json[] | undefined;
  let isOfStrings = false;
  for (const [keyword, value] of schema) {
    if (list === undefined && keyword === 'const') list = [value];
    else if (list === undefined && keyword === 'enum' && isArray(value)) list = value;
    else if (keyword === 'type' && value === 'string') isOfStrings = true;
    else if (!isAnnotation(keyword)) return undefined;
  }
  const isListed = (value: Json): boolean =>
    isOfStrings ? typeof value === 'string' : !isArray(value) && !isObject(value);
  return list?.every(isListed) === true ? new Set(list.map((value) => JSON.stringify(value))) : undefined;
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

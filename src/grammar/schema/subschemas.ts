import { type JsonObject, isArray, isObject } from './json-value.ts';

/** The keywords of draft 2020-12 that hold schemas: one, a list, or a map of them. */
const HOLDERS: ReadonlyMap<string, 'one' | 'list' | 'map'> = new Map([
  ['$defs', 'map'],
  ['definitions', 'map'],
  ['properties', 'map'],
  ['patternProperties', 'map'],
  ['dependentSchemas', 'map'],
  ['dependencies', 'map'],
  ['allOf', 'list'],
  ['anyOf', 'list'],
  ['oneOf', 'list'],
  ['prefixItems', 'list'],
  ['items', 'one'],
  ['additionalItems', 'one'],
  ['contains', 'one'],
  ['additionalProperties', 'one'],
  ['propertyNames', 'one'],
  ['not', 'one'],
  ['if', 'one'],
  ['then', 'one'],
  ['else', 'one'],
  ['unevaluatedItems', 'one'],
  ['unevaluatedProperties', 'one'],
  ['contentSchema', 'one'],
] as const);

/**
 * Visits the immediate subschemas of a schema, with the keyword and the step below it. The contents of `enum`, `const`
 * and unknown words are not schemas.
 */
export function forEachSubschema(
  schema: JsonObject,
  visit: (inner: JsonObject, keyword: string, step?: string | number) => void,
): void {
  for (const [keyword, value] of schema) {
    const holder = HOLDERS.get(keyword);
    if (holder === undefined) continue;
    if (holder === 'map' && isObject(value)) {
      for (const [name, inner] of value) if (isObject(inner)) visit(inner, keyword, name);
    } else if (holder === 'list' || isArray(value)) {
      if (isArray(value))
        for (const [at, inner] of value.entries()) if (isObject(inner)) visit(inner, keyword, at);
    } else if (isObject(value)) visit(value, keyword);
  }
}

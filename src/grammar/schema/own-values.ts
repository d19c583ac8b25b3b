import type { SchemaNode } from './document.ts';
import type { Keywords } from './keywords.ts';
import {
  ANY_ARRAY,
  ANY_OBJECT,
  ANYTHING,
  type Arrays,
  type MemberGroup,
  type Objects,
  type Term,
  termOf,
  type Values,
  type Word,
} from './shapes.ts';
import { ANY_STRING } from './strings.ts';
import { pointerTo } from './json-value.ts';
import { bothArrays } from './arrays.ts';

const NO_WORDS: ReadonlySet<Word> = new Set();

/** The values described by a schema's keywords, except those that combine schemas. */
export function ownValues(keywords: Keywords, node: SchemaNode): Values {
  const { types } = keywords;
  const has = (type: string): boolean => types === undefined || types.has(type);
  const hasNumbers = has('number') || has('integer');
  return {
    words: types ? wordsOf(types) : ANYTHING.words,
    numbers: hasNumbers && keywords.numbers ? [keywords.numbers] : [],
    strings: has('string') ? ownStrings(keywords) : [],
    arrays: has('array') ? ownArrays(keywords, node) : [],
    objects: has('object') ? ownObjects(keywords) : [],
  };
}

function wordsOf(types: ReadonlySet<string>): ReadonlySet<Word> {
  const hasBooleans = types.has('boolean');
  if (types.has('null')) return new Set(hasBooleans ? ['null', 'true', 'false'] : ['null']);
  return hasBooleans ? new Set(['true', 'false']) : NO_WORDS;
}

function ownStrings({ minLength, maxLength, languages }: Keywords): Values['strings'] {
  if (minLength === 0 && maxLength === Infinity && languages.length === 0) return [ANY_STRING];
  return minLength > maxLength ? [] : [{ kind: 'range', min: minLength, max: maxLength, languages }];
}

function ownArrays(keywords: Keywords, node: SchemaNode): Arrays[] {
  const { prefixItems, items, contains, minItems, maxItems, uniqueItems } = keywords;
  let arrays = ANY_ARRAY;
  if (prefixItems.length > 0 || items) {
    const prefix = prefixItems.map((item) => termOf([item]));
    arrays = { ...arrays, groups: [{ prefix, ...(items && { rest: termOf([items]) }) }] };
  }
  if (minItems > 0 || maxItems < Infinity) arrays = { ...arrays, min: minItems, max: maxItems };
  if (uniqueItems) arrays = { ...arrays, unique: pointerTo(node.pointer, 'uniqueItems') };
  if (contains) {
    const { minContains: min, maxContains: max } = keywords;
    arrays = { ...arrays, contains: [{ term: termOf([contains]), min, max }] };
  }
  return arrays === ANY_ARRAY ? [arrays] : [bothArrays(arrays, ANY_ARRAY) ?? []].flat();
}

function ownObjects(keywords: Keywords): Objects[] {
  const { properties, patternProperties, additionalProperties, required, dependentRequired } = keywords;
  const { minProperties: min, maxProperties: max, propertyNames } = keywords;
  let objects = ANY_OBJECT;
  if (properties.size > 0 || patternProperties.length > 0 || additionalProperties) {
    const named = new Map<string, Term>();
    for (const [name, schema] of properties) named.set(name, termOf([schema]));
    const group: MemberGroup = {
      named,
      patterns: patternProperties.map(({ language, schema }) => ({ language, term: termOf([schema]) })),
      ...(additionalProperties && { additional: termOf([additionalProperties]) }),
    };
    objects = { ...objects, groups: [group] };
  }
  if (required.length > 0) objects = { ...objects, required: new Set(required) };
  if (min > 0 || max < Infinity) objects = { ...objects, min, max };
  if (dependentRequired.length > 0) objects = { ...objects, dependent: dependentRequired };
  if (propertyNames) objects = { ...objects, names: [termOf([propertyNames])] };
  return min > max ? [] : [objects];
}

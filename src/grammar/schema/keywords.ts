import { decimalOf } from './decimal.ts';
import type { SchemaDocument, SchemaNode } from './document.ts';
import { type Json, isArray, isObject, pointerTo } from './json-value.ts';
import { ANY_INTEGER, ANY_NUMBER, intersectNumbers, type NumberRange, type Numbers } from './numbers.ts';
import { invalid, refuse, type SchemaOptions } from './options.ts';
import type { Regex } from '../regex/regex.ts';

/** The keywords of one schema, parsed. */
export interface Keywords {
  types?: ReadonlySet<string>;
  /** `enum` and `const`: the value must be in every list. */
  values: readonly (readonly Json[])[];
  /** Undefined means no number at all. */
  numbers: Numbers | undefined;
  minLength: number;
  maxLength: number;
  languages: readonly Regex[];
  prefixItems: readonly SchemaNode[];
  items?: SchemaNode;
  minItems: number;
  maxItems: number;
  uniqueItems: boolean;
  contains?: SchemaNode;
  minContains: number;
  maxContains: number;
  properties: ReadonlyMap<string, SchemaNode>;
  patternProperties: readonly { readonly language: Regex; readonly schema: SchemaNode }[];
  additionalProperties?: SchemaNode;
  propertyNames?: SchemaNode;
  required: readonly string[];
  minProperties: number;
  maxProperties: number;
  dependentRequired: readonly (readonly [name: string, needed: string])[];
  dependentSchemas: readonly (readonly [name: string, schema: SchemaNode])[];
  references: readonly SchemaNode[];
  allOf: readonly SchemaNode[];
  anyOf?: readonly SchemaNode[];
  oneOf?: readonly SchemaNode[];
  not?: SchemaNode;
  if?: SchemaNode;
  then?: SchemaNode;
  else?: SchemaNode;
  unevaluatedItems?: SchemaNode;
  unevaluatedProperties?: SchemaNode;
}

/** The functions that keyword readers may call. */
interface Reading {
  readonly document: SchemaDocument;
  readonly options: SchemaOptions;
  readonly pattern: (source: string, keyword: string, pointer: string) => Regex;
  readonly format: (name: string) => Regex | undefined;
}

/** The location of a keyword, or of a step below it. */
class Place {
  readonly node: SchemaNode;
  readonly keyword: string;
  readonly reading: Reading;
  readonly #step: string | undefined;

  constructor(node: SchemaNode, keyword: string, reading: Reading, step?: string) {
    this.node = node;
    this.keyword = keyword;
    this.reading = reading;
    this.#step = step;
  }

  /** Built on demand, since most are never needed. */
  get pointer(): string {
    const own = pointerTo(this.node.pointer, this.keyword);
    return this.#step === undefined ? own : pointerTo(own, this.#step);
  }

  inner(step: string): Place {
    return new Place(this.node, this.keyword, this.reading, step);
  }
}

type Reader = (value: Json, into: Keywords, place: Place) => void;

const TYPES = new Set(['null', 'boolean', 'number', 'integer', 'string', 'array', 'object']);

const DIALECT = /^https?:\/\/json-schema\.org\/(?:draft-0[4-7]|draft\/20(?:19-09|20-12))\/schema#?$/;

const wrong = ({ pointer }: Place, found: Json, expected: string): never => {
  const shown = isArray(found) ? 'an array' : isObject(found) ? 'an object' : JSON.stringify(found);
  return invalid(pointer, `found ${shown}, expected ${expected}`);
};

const schemaOf = (value: Json, { node, keyword, reading }: Place): SchemaNode =>
  reading.document.node(value, node, keyword);

function schemasOf(value: Json, place: Place): SchemaNode[] {
  if (!isArray(value) || value.length === 0) return wrong(place, value, 'a list of schemas');
  const { node, keyword, reading } = place;
  return value.map((item, at) => reading.document.node(item, node, keyword, at));
}

function schemaMapOf(value: Json, place: Place): Map<string, SchemaNode> {
  if (!isObject(value)) return wrong(place, value, 'an object of schemas');
  const { node, keyword, reading } = place;
  const schemas = new Map<string, SchemaNode>();
  for (const [name, item] of value) schemas.set(name, reading.document.node(item, node, keyword, name));
  return schemas;
}

function numberOf(value: Json, place: Place): number {
  return typeof value === 'number' ? value : wrong(place, value, 'a number');
}

function countOf(value: Json, place: Place): number {
  const isCount = typeof value === 'number' && Number.isInteger(value) && value >= 0;
  return isCount ? value : wrong(place, value, 'a whole number from 0');
}

function textOf(value: Json, place: Place): string {
  return typeof value === 'string' ? value : wrong(place, value, 'a text');
}

function textsOf(value: Json, place: Place): readonly string[] {
  const isTexts = isArray(value) && value.every((item) => typeof item === 'string');
  return isTexts ? (value as readonly string[]) : wrong(place, value, 'a list of texts');
}

function narrow(into: Keywords, by: Partial<NumberRange>): void {
  into.numbers = into.numbers && intersectNumbers(into.numbers, { ...ANY_NUMBER, ...by });
}

const bound = (side: 'low' | 'high', exclusive: boolean): Reader => {
  return (value, into, place) =>
    narrow(into, { [side]: { at: decimalOf(numberOf(value, place)), exclusive } });
};

const count = (
  field:
    | 'minLength'
    | 'maxLength'
    | 'minItems'
    | 'maxItems'
    | 'minContains'
    | 'maxContains'
    | 'minProperties'
    | 'maxProperties',
): Reader => {
  return (value, into, place) => {
    into[field] = countOf(value, place);
  };
};

const schema = (
  field:
    | 'contains'
    | 'additionalProperties'
    | 'propertyNames'
    | 'not'
    | 'if'
    | 'then'
    | 'else'
    | 'unevaluatedItems'
    | 'unevaluatedProperties',
): Reader => {
  return (value, into, place) => {
    into[field] = schemaOf(value, place);
  };
};

const schemas = (field: 'allOf' | 'anyOf' | 'oneOf'): Reader => {
  return (value, into, place) => {
    into[field] = schemasOf(value, place);
  };
};

const readType: Reader = (value, into, place) => {
  const types = typeof value === 'string' ? [value] : textsOf(value, place);
  const unknown = types.find((type) => !TYPES.has(type));
  if (unknown !== undefined) wrong(place, unknown, `one of ${[...TYPES].join(', ')}`);
  into.types = new Set(types);
  if (types.includes('integer') && !types.includes('number')) {
    into.numbers = into.numbers && intersectNumbers(into.numbers, ANY_INTEGER);
  }
};

const readItems: Reader = (value, into, place) => {
  if (!isArray(value)) {
    into.items = schemaOf(value, place);
    return;
  }
  // Before draft 2020-12 `items` could be a list, and `additionalItems` described the items after it.
  into.prefixItems = value.length === 0 ? [] : schemasOf(value, place);
  const rest = isObject(place.node.value) ? place.node.value.get('additionalItems') : undefined;
  if (rest !== undefined) {
    into.items = place.reading.document.node(rest, place.node, 'additionalItems');
  }
};

const readDependentRequired: Reader = (value, into, place) => {
  if (!isObject(value)) return wrong(place, value, 'an object of lists of texts');
  const pairs: (readonly [string, string])[] = [...into.dependentRequired];
  for (const [name, needed] of value) addPairs(pairs, name, textsOf(needed, place.inner(name)));
  into.dependentRequired = pairs;
};

function addPairs(pairs: (readonly [string, string])[], name: string, needed: readonly string[]): void {
  for (const other of needed) pairs.push([name, other]);
}

const readDependencies: Reader = (value, into, place) => {
  if (!isObject(value)) return wrong(place, value, 'an object of schemas and lists of texts');
  const pairs: (readonly [string, string])[] = [...into.dependentRequired];
  const schemas: (readonly [string, SchemaNode])[] = [...into.dependentSchemas];
  const { node, keyword, reading } = place;
  for (const [name, needed] of value) {
    if (isArray(needed)) addPairs(pairs, name, textsOf(needed, place.inner(name)));
    else schemas.push([name, reading.document.node(needed, node, keyword, name)]);
  }
  into.dependentRequired = pairs;
  into.dependentSchemas = schemas;
};

const readFormat: Reader = (value, into, place) => {
  const name = textOf(value, place);
  if (place.reading.options.formats !== 'assertion') return;
  const language = place.reading.format(name);
  if (!language)
    refuse('format', place.pointer, `the format "${name}" is not known, so that it cannot be asserted`);
  into.languages = [...into.languages, language];
};

/** The keywords of draft 2020-12 that do not constrain a value themselves, or were handled with the document. */
const SILENT = [
  '$id',
  '$anchor',
  '$dynamicAnchor',
  '$defs',
  'definitions',
  '$comment',
  '$vocabulary',
] as const;
const ANNOTATIONS = [
  'title',
  'description',
  'default',
  'examples',
  'deprecated',
  'readOnly',
  'writeOnly',
] as const;
const CONTENT = ['contentEncoding', 'contentMediaType', 'contentSchema'] as const;

const silent: Reader = () => undefined;

const refused: Reader = (_, _into, { keyword, pointer }) =>
  refuse(keyword, pointer, 'draft 2020-12 replaced it by $dynamicRef and $dynamicAnchor');

/**
 * Every keyword of draft 2020-12, and those of earlier drafts with another meaning. All other words are annotations.
 */
const READERS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ...[...SILENT, ...ANNOTATIONS, ...CONTENT].map((word) => [word, silent] as const),
  [
    '$schema',
    (value, _, place) => {
      const name = textOf(value, place);
      if (!DIALECT.test(name)) refuse('$schema', place.pointer, `the dialect "${name}" is not known`);
    },
  ],
  [
    '$ref',
    (value, into, place) => {
      const target = place.reading.document.resolve(textOf(value, place), place.node, '$ref');
      into.references = [...into.references, target];
    },
  ],
  [
    '$dynamicRef',
    (value, into, place) => {
      const target = place.reading.document.resolveDynamic(textOf(value, place), place.node);
      into.references = [...into.references, target];
    },
  ],
  ['$recursiveRef', refused],
  ['$recursiveAnchor', refused],
  ['type', readType],
  [
    'enum',
    (value, into, place) => {
      into.values = [...into.values, isArray(value) ? value : wrong(place, value, 'a list of values')];
    },
  ],
  [
    'const',
    (value, into) => {
      into.values = [...into.values, [value]];
    },
  ],
  ['minimum', bound('low', false)],
  ['maximum', bound('high', false)],
  ['exclusiveMinimum', bound('low', true)],
  ['exclusiveMaximum', bound('high', true)],
  [
    'multipleOf',
    (value, into, place) => {
      const step = numberOf(value, place);
      if (step <= 0) wrong(place, value, 'a number above zero');
      narrow(into, { step: decimalOf(step) });
    },
  ],
  ['minLength', count('minLength')],
  ['maxLength', count('maxLength')],
  [
    'pattern',
    (value, into, place) => {
      const language = place.reading.pattern(textOf(value, place), place.keyword, place.pointer);
      into.languages = [...into.languages, language];
    },
  ],
  ['format', readFormat],
  [
    'prefixItems',
    (value, into, place) => {
      into.prefixItems = schemasOf(value, place);
    },
  ],
  ['items', readItems],
  ['minItems', count('minItems')],
  ['maxItems', count('maxItems')],
  [
    'uniqueItems',
    (value, into, place) => {
      into.uniqueItems = typeof value === 'boolean' ? value : wrong(place, value, 'true or false');
    },
  ],
  ['contains', schema('contains')],
  ['minContains', count('minContains')],
  ['maxContains', count('maxContains')],
  [
    'properties',
    (value, into, place) => {
      into.properties = schemaMapOf(value, place);
    },
  ],
  [
    'patternProperties',
    (value, into, place) => {
      into.patternProperties = Array.from(schemaMapOf(value, place), ([source, inner]) => {
        const { pointer } = place.inner(source);
        return { language: place.reading.pattern(source, place.keyword, pointer), schema: inner };
      });
    },
  ],
  ['additionalProperties', schema('additionalProperties')],
  ['propertyNames', schema('propertyNames')],
  [
    'required',
    (value, into, place) => {
      into.required = textsOf(value, place);
    },
  ],
  ['minProperties', count('minProperties')],
  ['maxProperties', count('maxProperties')],
  ['dependentRequired', readDependentRequired],
  [
    'dependentSchemas',
    (value, into, place) => {
      into.dependentSchemas = [...into.dependentSchemas, ...schemaMapOf(value, place)];
    },
  ],
  ['dependencies', readDependencies],
  ['allOf', schemas('allOf')],
  ['anyOf', schemas('anyOf')],
  ['oneOf', schemas('oneOf')],
  ['not', schema('not')],
  ['if', schema('if')],
  ['then', schema('then')],
  ['else', schema('else')],
  ['unevaluatedItems', schema('unevaluatedItems')],
  ['unevaluatedProperties', schema('unevaluatedProperties')],
]);

/** True for words that do not constrain a value: annotations, and those handled with the document. */
export function isAnnotation(keyword: string): boolean {
  return (READERS.get(keyword) ?? silent) === silent;
}

const NO_SCHEMAS: Keywords['properties'] = new Map();
const NONE: readonly never[] = [];

/** Parses the keywords of a schema. Throws `GRAMMAR_INVALID` and `SCHEMA_UNSUPPORTED` with the keyword's location. */
export function readKeywords(node: SchemaNode, reading: Reading): Keywords {
  const keywords: Keywords = {
    values: NONE,
    numbers: ANY_NUMBER,
    minLength: 0,
    maxLength: Infinity,
    languages: NONE,
    prefixItems: NONE,
    minItems: 0,
    maxItems: Infinity,
    uniqueItems: false,
    minContains: 1,
    maxContains: Infinity,
    properties: NO_SCHEMAS,
    patternProperties: NONE,
    required: NONE,
    minProperties: 0,
    maxProperties: Infinity,
    dependentRequired: NONE,
    dependentSchemas: NONE,
    references: NONE,
    allOf: NONE,
  };
  if (!isObject(node.value)) return keywords;
  for (const [keyword, value] of node.value) {
    const read = READERS.get(keyword) ?? silent;
    if (read !== silent) read(value, keywords, new Place(node, keyword, reading));
  }
  return keywords;
}

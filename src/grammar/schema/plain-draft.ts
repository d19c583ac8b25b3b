import { isRocmforgeError } from '../../base/errors.ts';
import { decimalOf, remainders } from './decimal.ts';
import type { SchemaNode } from './document.ts';
import type { Expander } from './expand.ts';
import { type Json, type JsonObject, isArray, isObject, pointerTo } from './json-value.ts';
import { isAnnotation } from './keywords.ts';
import { mayBeEmpty } from './regexes.ts';

/** A schema whose keywords are all supported, and which is satisfiable if the required schemas are. */
export interface PlainDraft {
  readonly node: SchemaNode;
  /** Schemas that the value, or a required part of it, must satisfy; among them those applied to the value itself. */
  readonly required: SchemaNode[];
  readonly inPlace: SchemaNode[];
  /** Schemas of optional parts. */
  readonly optional: SchemaNode[];
  /** The cost of writing its rules, in members and values. */
  weight: number;
  /** The depth of schemas applied in place of each other. */
  depth: number;
  /** True when no value is an array or object. */
  isScalar: boolean;
}

/** A plain schema while it is read; keyword readers report whether it remains plain. */
interface Reading extends PlainDraft {
  readonly schema: JsonObject;
  readonly expander: Expander;
}

type Reader = (of: Reading) => boolean;

const SCALARS = new Set(['null', 'boolean', 'number', 'integer', 'string']);
const TYPES = new Set([...SCALARS, 'array', 'object']);

const BOUNDS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'];
const MAX_COUNTED = 1_000_000;
/** Above this, JavaScript cannot represent all integers. */
const FAR = 1e15;
const MAX_REMAINDERS = 10_000n;
const MAX_PATTERN_LENGTH = 512;

/** Keywords that are read together. */
interface Family {
  readonly read: Reader;
  readonly keywords: readonly string[];
  /** The keywords that may accompany it; any when absent. */
  readonly beside?: readonly string[];
}

const FAMILIES: ReadonlyMap<string, Family> = new Map(
  [
    { read: readType, keywords: ['type'] },
    { read: readReference, keywords: ['$ref'], beside: [] },
    {
      read: readNumbers,
      keywords: [...BOUNDS, 'multipleOf'],
    },
    { read: readStrings, keywords: ['minLength', 'maxLength', 'pattern', 'format'] },
    { read: readArrays, keywords: ['prefixItems', 'items', 'minItems', 'maxItems'] },
    { read: readObjects, keywords: ['properties', 'required', 'additionalProperties'] },
    { read: (of: Reading) => readValues(of, of.schema.get('enum')), keywords: ['enum'], beside: ['type'] },
    {
      read: (of: Reading) => readValues(of, [of.schema.get('const') ?? null]),
      keywords: ['const'],
      beside: ['type'],
    },
    { read: (of: Reading) => readInPlace(of, 'allOf', 1), keywords: ['allOf'], beside: [] },
    { read: (of: Reading) => readInPlace(of, 'anyOf', Infinity), keywords: ['anyOf'], beside: [] },
  ].flatMap((family) => family.keywords.map((word) => [word, family] as const)),
);

/**
 * Examines the keywords of a schema: types, bounds, members and items, lists of scalars, references and alternatives
 * are plain, which covers most schemas. Undefined for anything else, and for errors, which the full reader reports.
 */
export function plainDraft(node: SchemaNode, expander: Expander): PlainDraft | undefined {
  const { value } = node;
  if (!isObject(value)) return undefined;
  const families: Family[] = [];
  for (const keyword of value.keys()) {
    const family = FAMILIES.get(keyword);
    if (family === undefined) {
      if (!isAnnotation(keyword)) return undefined;
    } else if (!families.includes(family)) families.push(family);
  }
  if (families.length > 1 && !families.every((one) => mayStandBeside(one, families))) return undefined;
  const reading: Reading = {
    node,
    schema: value,
    expander,
    required: [],
    inPlace: [],
    optional: [],
    weight: 1,
    depth: 0,
    isScalar: false,
  };
  for (const family of families) if (!family.read(reading)) return undefined;
  return reading;
}

function mayStandBeside(family: Family, others: readonly Family[]): boolean {
  const { beside } = family;
  if (beside === undefined) return true;
  return others.every((other) => other === family || beside.includes(other.keywords[0] as string));
}

function readType(of: Reading): boolean {
  const types = typesOf(of);
  of.isScalar = types?.every((type) => SCALARS.has(type)) ?? false;
  return types !== undefined;
}

/** Undefined when they are invalid. */
function typesOf({ schema }: Reading): readonly string[] | undefined {
  const value = schema.get('type') ?? null;
  const types = typeof value === 'string' ? [value] : isArray(value) ? value : [];
  const areKnown = types.length > 0 && types.every((type) => typeof type === 'string' && TYPES.has(type));
  return areKnown ? (types as readonly string[]) : undefined;
}

function readNumbers({ schema }: Reading): boolean {
  let [low, high] = [-Infinity, Infinity];
  for (const keyword of BOUNDS) {
    const bound = schema.get(keyword);
    if (bound === undefined) continue;
    if (typeof bound !== 'number' || Math.abs(bound) >= FAR) return false;
    if (keyword === 'minimum' || keyword === 'exclusiveMinimum') low = Math.max(low, bound);
    else high = Math.min(high, bound);
  }
  // Guarantees an integer between them.
  if (high - low < 2) return false;
  const step = schema.get('multipleOf');
  if (step === undefined) return true;
  if (low > -Infinity || high < Infinity) return false;
  return (
    typeof step === 'number' && step >= 1e-9 && step <= 1e9 && remainders(decimalOf(step)) <= MAX_REMAINDERS
  );
}

/** The counts of two keywords, inclusive; undefined when they are invalid or out of order. */
function countsOf(
  { schema }: Reading,
  least: string,
  most: string,
): { min: number; max: number } | undefined {
  const [min = 0, max = Infinity] = [schema.get(least), schema.get(most)];
  const isCount = (value: Json): value is number =>
    typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_COUNTED;
  if (!isCount(min) || !(max === Infinity || isCount(max)) || min > max) return undefined;
  return { min, max };
}

function readStrings(of: Reading): boolean {
  const { schema, node, expander } = of;
  if (!countsOf(of, 'minLength', 'maxLength')) return false;
  const format = schema.get('format') ?? '';
  if (typeof format !== 'string') return false;
  if (schema.has('format') && expander.options.formats === 'assertion') return false;
  const pattern = schema.get('pattern');
  if (pattern === undefined) return true;
  if (typeof pattern !== 'string' || pattern.length > MAX_PATTERN_LENGTH) return false;
  if (schema.has('minLength') || schema.has('maxLength')) return false;
  const language = ifRight(() => expander.pattern(pattern, 'pattern', pointerTo(node.pointer, 'pattern')));
  return language !== undefined && !mayBeEmpty(language);
}

function readArrays(of: Reading): boolean {
  const { schema } = of;
  const counts = countsOf(of, 'minItems', 'maxItems');
  const prefix = schema.has('prefixItems') ? schema.get('prefixItems') : [];
  if (!counts || !isArray(prefix) || (prefix.length === 0 && schema.has('prefixItems'))) return false;
  of.weight += prefix.length;
  const items = schema.get('items') ?? true;
  const isNeeded = counts.min > prefix.length;
  const areItems = prefix.every((item, at) => readPart(of, item, { keyword: 'prefixItems', step: at }));
  return areItems && readPart(of, items, { keyword: 'items', isOptional: !isNeeded });
}

function readObjects(of: Reading): boolean {
  const { schema } = of;
  const properties = schema.has('properties') ? schema.get('properties') : new Map<string, Json>();
  const required = schema.has('required') ? schema.get('required') : [];
  if (!isObject(properties) || !isArray(required)) return false;
  // Undeclared names may come in any order, which takes many states.
  if (!required.every((name) => typeof name === 'string' && properties.has(name))) return false;
  of.weight += properties.size;
  const names = new Set(required);
  for (const [name, property] of properties) {
    const isOptional = !names.has(name);
    if (!readPart(of, property, { keyword: 'properties', step: name, isOptional })) return false;
  }
  const additional = schema.get('additionalProperties') ?? true;
  return readPart(of, additional, { keyword: 'additionalProperties', isOptional: true });
}

/** The location of a member's or item's schema, and whether the part is optional. */
interface Part {
  readonly keyword: string;
  readonly step?: string | number;
  readonly isOptional?: boolean;
}

/** The schema of a member or item. */
function readPart(
  { expander, node, required, optional }: Reading,
  value: Json,
  { keyword, step, isOptional = false }: Part,
): boolean {
  if (typeof value === 'boolean') return value || isOptional;
  if (!isObject(value)) return false;
  (isOptional ? optional : required).push(expander.document.node(value, node, keyword, step));
  return true;
}

function readValues(of: Reading, values: Json | undefined): boolean {
  if (!isArray(values) || values.length === 0) return false;
  if (values.some((value) => isArray(value) || isObject(value))) return false;
  of.weight += values.length;
  of.isScalar = true;
  const types = of.schema.has('type') ? typesOf(of) : [...TYPES];
  return types !== undefined && values.every((value) => types.some((type) => isOfType(value, type)));
}

function isOfType(value: Json, type: string): boolean {
  if (type === 'null') return value === null;
  return type === 'integer' ? Number.isInteger(value) : typeof value === type;
}

function readReference(of: Reading): boolean {
  const { schema, node, expander } = of;
  const reference = schema.get('$ref');
  if (typeof reference !== 'string') return false;
  const target = ifRight(() => expander.document.resolve(reference, node, '$ref'));
  return target !== undefined && addInPlace(of, target);
}

function readInPlace(of: Reading, keyword: string, most: number): boolean {
  const { node, expander, schema: own } = of;
  const schemas = own.get(keyword);
  if (!isArray(schemas) || schemas.length === 0 || schemas.length > most) return false;
  of.isScalar = true;
  return schemas.every(
    (schema, at) => isObject(schema) && addInPlace(of, expander.document.node(schema, node, keyword, at)),
  );
}

function addInPlace(of: Reading, node: SchemaNode): boolean {
  if (typeof node.value === 'boolean') return false;
  of.isScalar = true;
  of.required.push(node);
  of.inPlace.push(node);
  return true;
}

/** Undefined when it throws that a schema is invalid or unsupported. */
function ifRight<Of>(make: () => Of): Of | undefined {
  try {
    return make();
  } catch (error) {
    if (isRocmforgeError(error, 'GRAMMAR_INVALID') || isRocmforgeError(error, 'SCHEMA_UNSUPPORTED'))
      return undefined;
    throw error;
  }
}

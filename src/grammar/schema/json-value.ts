import { invalid } from './options.ts';

/** A JSON value with objects as maps, so that no member name is special to JavaScript. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

/** A JSON object. */
export type JsonObject = ReadonlyMap<string, Json>;

const DEEPEST = 64;
const MAX_VALUES = 200_000;
const MAX_CHARACTERS = 4_000_000;

/** True for a JSON object. */
export function isObject(value: Json | undefined): value is JsonObject {
  return value instanceof Map;
}

/** True for a JSON array. */
export function isArray(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

/** A JSON pointer extended by one step. */
export function pointerTo(pointer: string, step: string | number): string {
  if (typeof step === 'number' || !(step.includes('/') || step.includes('~'))) return `${pointer}/${step}`;
  return `${pointer}/${step.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** A JSON value, and whether an object in it has a member with one of the names searched for. */
export interface CopiedJson {
  readonly value: Json;
  readonly isFound: boolean;
}

/**
 * Copies a JSON value, nested at most 64 deep, and searches it for member names. Throws `GRAMMAR_INVALID` for what JSON
 * cannot represent (functions, dates, NaN, lone surrogates, cycles) and for values that are too large. Omits undefined
 * members, as JSON.stringify does.
 */
export function copyJson(value: unknown, names: ReadonlySet<string>): CopiedJson {
  let isFound = false;
  let values = 0;
  let characters = 0;
  /** The path as steps; only errors build a pointer from it. */
  const path: (string | number)[] = [];
  const refuse = (reason: string): never => invalid(path.reduce(pointerTo, ''), reason);
  const text = (of: string): string => {
    characters += of.length;
    if (characters > MAX_CHARACTERS) refuse(`the schema is longer than ${MAX_CHARACTERS} characters`);
    if (/\p{Surrogate}/u.test(of)) refuse('a text has half of a surrogate pair');
    return of;
  };
  const part = (of: unknown, step: string | number): Json => {
    path.push(step);
    const copied = copy(of);
    path.pop();
    return copied;
  };
  const copy = (of: unknown): Json => {
    if (++values > MAX_VALUES) refuse(`the schema has more than ${MAX_VALUES} values`);
    if (of === null || typeof of === 'boolean') return of;
    if (typeof of === 'string') return text(of);
    if (typeof of === 'number') {
      return Number.isFinite(of) ? of : refuse(`found ${of}, expected a number of JSON`);
    }
    if (of === undefined) return refuse('found undefined, expected a value of JSON');
    if (typeof of !== 'object') return refuse(`found a ${typeof of}, expected a value of JSON`);
    if (path.length === DEEPEST) refuse(`the schema is nested more than ${DEEPEST} deep`);
    if (Array.isArray(of)) return of.map(part);
    const prototype: unknown = Object.getPrototypeOf(of);
    if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
      refuse('found an object of a class, expected a value of JSON');
    }
    const members = new Map<string, Json>();
    for (const name of Object.keys(of)) {
      const member: unknown = (of as Readonly<Record<string, unknown>>)[name];
      if (member === undefined) continue;
      isFound ||= names.has(name);
      members.set(text(name), part(member, name));
    }
    return members;
  };
  const copied = copy(value);
  return { value: copied, isFound };
}

/** True when two JSON values are equal by JSON Schema's definition: numbers by value, members in any order. */
export function isEqualJson(a: Json, b: Json): boolean {
  if (isArray(a))
    return isArray(b) && a.length === b.length && a.every((item, at) => isEqualJson(item, b[at] ?? null));
  if (!isObject(a)) return a === b;
  if (!isObject(b) || a.size !== b.size) return false;
  return [...a].every(([name, member]) => {
    const other = b.get(name);
    return other !== undefined && isEqualJson(member, other);
  });
}

import { invalid } from './options.ts';

/** A JSON value whose objects are maps, so that no member's name means anything to JavaScript. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

/** An object of JSON. */
export type JsonObject = ReadonlyMap<string, Json>;

const DEEPEST = 64;
const MOST_VALUES = 200_000;
const MOST_CHARACTERS = 4_000_000;

/** True for an object of JSON. */
export function isObject(value: Json | undefined): value is JsonObject {
  return value instanceof Map;
}

/** True for an array of JSON. */
export function isArray(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

/** A JSON pointer one step longer. */
export function pointerTo(pointer: string, step: string | number): string {
  if (typeof step === 'number' || !(step.includes('/') || step.includes('~'))) return `${pointer}/${step}`;
  return `${pointer}/${step.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/**
 * A copy of what is a JSON value, nested 64 deep at most. Throws `GRAMMAR_INVALID` for what JSON cannot write (functions, dates,
 * NaN, lone surrogates, circles) and for what is too large. Members that are undefined are left out, as JSON leaves them out.
 */
export function copyJson(value: unknown): Json {
  let values = 0;
  let characters = 0;
  const text = (of: string, pointer: string): string => {
    characters += of.length;
    if (characters > MOST_CHARACTERS)
      invalid(pointer, `the schema is longer than ${MOST_CHARACTERS} characters`);
    if (/\p{Surrogate}/u.test(of)) invalid(pointer, 'a text has half of a surrogate pair');
    return of;
  };
  const copy = (of: unknown, pointer: string, depth: number): Json => {
    if (++values > MOST_VALUES) invalid(pointer, `the schema has more than ${MOST_VALUES} values`);
    if (of === null || typeof of === 'boolean') return of;
    if (typeof of === 'string') return text(of, pointer);
    if (typeof of === 'number') {
      return Number.isFinite(of) ? of : invalid(pointer, `found ${of}, expected a number of JSON`);
    }
    if (typeof of !== 'object') return invalid(pointer, `found a ${typeof of}, expected a value of JSON`);
    if (depth === DEEPEST) invalid(pointer, `the schema is nested more than ${DEEPEST} deep`);
    if (Array.isArray(of)) return of.map((item, at) => copy(item, pointerTo(pointer, at), depth + 1));
    const prototype: unknown = Object.getPrototypeOf(of);
    if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
      invalid(pointer, 'found an object of a class, expected a value of JSON');
    }
    const members = new Map<string, Json>();
    for (const [name, member] of Object.entries(of)) {
      if (member !== undefined)
        members.set(text(name, pointer), copy(member, pointerTo(pointer, name), depth + 1));
    }
    return members;
  };
  return copy(value, '', 0);
}

/** True where two JSON values are equal as JSON Schema has it: numbers by value, members in any order. */
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

import { fail } from './errors.ts';

/** What an option's value has to be. */
export interface ValueKind {
  /** In words, for the error. */
  readonly expected: string;
  readonly is: (value: unknown) => boolean;
}

/** The kinds of options whose values nothing finer checks, by name. */
export type ValueKinds<T> = { readonly [Name in keyof T]?: ValueKind };

const isText = (value: unknown): boolean => typeof value === 'string';
const isNumber = (value: unknown): boolean => typeof value === 'number' && value >= 0;

/** A text. */
export const TEXT: ValueKind = { expected: 'a text', is: isText };
/** Texts in a list. */
export const TEXTS: ValueKind = {
  expected: 'a list of texts',
  is: (value) => Array.isArray(value) && value.every(isText),
};
/** Texts in a list, none of them empty. */
export const WRITTEN_TEXTS: ValueKind = {
  expected: 'a list of texts, none of them empty',
  is: (value) => TEXTS.is(value) && !(value as readonly string[]).includes(''),
};
/** Token ids in a list; that they are in the vocabulary is checked later. */
export const IDS: ValueKind = {
  expected: 'a list of token ids',
  is: (value) => Array.isArray(value) && value.every((id) => typeof id === 'number'),
};
/** True or false. */
export const FLAG: ValueKind = { expected: 'true or false', is: (value) => typeof value === 'boolean' };
/** A size. */
export const BYTES: ValueKind = { expected: 'a number of bytes', is: isNumber };
/** Something that is called. */
export const FUNCTION: ValueKind = { expected: 'a function', is: (value) => typeof value === 'function' };
/** A signal, of any realm. */
export const SIGNAL: ValueKind = {
  expected: 'an AbortSignal',
  is: (value) => typeof (value as Partial<AbortSignal>).addEventListener === 'function',
};

/** A whole number, 0 or more. */
export const COUNT: ValueKind = {
  expected: 'a whole number, 0 or more',
  is: (value) => Number.isSafeInteger(value) && (value as number) >= 0,
};
/** A number that is finite. */
export const FINITE: ValueKind = { expected: 'a finite number', is: Number.isFinite };
/** A part of one. */
export const SHARE: ValueKind = {
  expected: 'a number from 0 to 1',
  is: (value) => isNumber(value) && (value as number) <= 1,
};
/** A Map, of any realm, with one kind of values. */
export function mapOf({ expected, is }: ValueKind): ValueKind {
  const isMap = (value: unknown) => Object.prototype.toString.call(value) === '[object Map]';
  return {
    expected: `a Map, each value ${expected}`,
    is: (value) => isMap(value) && [...(value as Map<unknown, unknown>).values()].every(is),
  };
}
/** An object with some methods. */
export function objectWith(expected: string, ...methods: readonly string[]): ValueKind {
  return {
    expected,
    is: (value) =>
      typeof value === 'object' &&
      value !== null &&
      methods.every((name) => typeof (value as Readonly<Record<string, unknown>>)[name] === 'function'),
  };
}

/** One of some words. */
export function oneOf(words: readonly string[]): ValueKind {
  return { expected: words.join(', '), is: (value) => words.includes(value as string) };
}

/**
 * Checks the values of options whose names are known: JavaScript would take a text for a list, or any text for true. Throws
 * `INVALID_ARGUMENT`; undefined and null ask for nothing.
 */
export function checkValues<T extends object>(options: T | undefined, kinds: ValueKinds<T>): void {
  for (const [name, kind] of Object.entries(kinds) as [keyof T & string, ValueKind][]) {
    const value = options?.[name] ?? undefined;
    if (value === undefined || kind.is(value)) continue;
    fail('INVALID_ARGUMENT', { name, found: describeValue(value), expected: kind.expected });
  }
}

/**
 * Checks the arguments of a function by their names; those of `optional` may be missing. Throws `INVALID_ARGUMENT`.
 */
export function checkArguments<Name extends string>(
  kinds: Readonly<Record<Name, ValueKind>>,
  required: { readonly [N in Name]?: unknown },
  optional: { readonly [N in Name]?: unknown } = {},
): void {
  for (const name of Object.keys(required) as Name[]) {
    const value = required[name];
    if (value !== undefined && value !== null) continue;
    fail('INVALID_ARGUMENT', { name, found: String(value), expected: kinds[name].expected });
  }
  checkValues<object>({ ...required, ...optional }, kinds);
}

/** A value for a message: what it is, and a short text or a number itself. */
export function describeValue(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === 'string')
    return value.length > 40 ? `a text of ${value.length} characters` : `"${value}"`;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (Array.isArray(value))
    return `a list of ${value.map(describeValue).slice(0, 3).join(', ') || 'nothing'}`;
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'symbol' || typeof value === 'bigint') return `a ${typeof value}`;
  return `an object of ${(value as object).constructor?.name ?? 'no class'}`;
}

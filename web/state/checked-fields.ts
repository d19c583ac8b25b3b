/** An object of a file or of what the browser has kept, which may hold anything. What is not what it should be is undefined. */
export type Fields = Readonly<Record<string, unknown>>;

/** Throws `SyntaxError` for what is no object. */
export function fields(value: unknown): Fields {
  if (typeof value !== 'object' || value === null) throw new SyntaxError('no object');
  return value as Fields;
}

export function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

export function number(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** The word that it is. */
export function oneOf<T extends string>(value: unknown, words: readonly T[]): T | undefined {
  return words.find((word) => word === value);
}

/** What is made of an object's fields. */
export function optional<T>(value: unknown, of: (value: Fields) => T | undefined): T | undefined {
  return typeof value === 'object' && value !== null ? of(value as Fields) : undefined;
}

/** What is what it should be of a list; undefined if nothing is. */
export function list<T>(value: unknown, of: (value: Fields) => T | undefined): readonly T[] | undefined {
  const all = (Array.isArray(value) ? value : []).flatMap((each: unknown) => optional(each, of) ?? []);
  return all.length > 0 ? all : undefined;
}

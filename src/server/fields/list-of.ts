import { z } from 'zod';

/** Bounds of a list's length. */
interface ListBounds {
  readonly min?: number;
  readonly max?: number;
}

/**
 * A list whose validation ends at its first invalid element: zod's own list describes each of them, which takes seconds for a body of
 * thousands. A list that is too long is refused before any element is looked at.
 */
export function listOf<T extends z.ZodType>(element: T, bounds: ListBounds = {}): ListField<z.output<T>> {
  return list<z.output<T>>(itemsOf(element), bounds, (values, refuse) => {
    const read: z.output<T>[] = [];
    for (const [index, value] of values.entries()) {
      const { data, error } = element.safeParse(value);
      if (error)
        return refuse(error.issues[0]?.message ?? 'is not valid', [index, ...(error.issues[0]?.path ?? [])]);
      read.push(data as z.output<T>);
    }
    return read;
  });
}

/** A list of token ids, of which there may be many. */
export function idsOf(bounds: ListBounds = {}): ListField<number> {
  return list<number>({ type: 'integer' }, bounds, (values, refuse) => {
    const index = values.findIndex((value) => !Number.isSafeInteger(value));
    return index < 0
      ? (values as readonly number[] as number[])
      : refuse('Invalid input: expected int', [index]);
  });
}

/** A list of token ids and texts, of which there may be many. */
export function idsAndTextsOf(bounds: ListBounds = {}): ListField<number | string> {
  return list<number | string>({ type: ['integer', 'string'] }, bounds, (values, refuse) => {
    const index = values.findIndex((value) => typeof value !== 'string' && !Number.isSafeInteger(value));
    return index < 0
      ? (values as (number | string)[])
      : refuse('Invalid input: expected int or string', [index]);
  });
}

/** The schema of a list. */
export type ListField<T> = z.ZodType<T[], T[]>;

/** Reads a list's elements, or refuses one of them by its path. */
type ReadList<T> = (
  values: readonly unknown[],
  refuse: (message: string, path: PropertyKey[]) => never,
) => T[];

function list<T>(
  items: object,
  { min = 0, max = Number.POSITIVE_INFINITY }: ListBounds,
  read: ReadList<T>,
): ListField<T> {
  const lengths = {
    ...(min > 0 && { minItems: min }),
    ...(max < Number.POSITIVE_INFINITY && { maxItems: max }),
  };
  return z
    .any()
    .transform((value: unknown, context): T[] => {
      const refuse = (message: string, path: PropertyKey[] = []) => {
        context.addIssue({ code: 'custom', message, path });
        return z.NEVER;
      };
      if (!Array.isArray(value)) return refuse('Invalid input: expected array');
      if (value.length < min) return refuse(`Too small: expected at least ${min} elements`);
      if (value.length > max) return refuse(`Too big: expected at most ${max} elements`);
      return read(value, refuse);
    })
    .meta({ type: 'array', items, ...lengths });
}

function itemsOf(element: z.ZodType): object {
  const { $schema: _dialect, ...items } = z.toJSONSchema(element, { io: 'input' });
  return items;
}

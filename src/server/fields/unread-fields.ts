import { fail } from '../../base/errors.ts';
import type { OtherFields } from './other-fields.ts';

/** Maximum fields that a response lists, and characters of a name. */
const MAX_NAMED = 32;
const MAX_NAME_LENGTH = 64;

/**
 * The fields of a body that its schema left out, except those known to be harmless, as paths with `*` for any list
 * index. Throws `REQUEST_INVALID` for one that would change the answer.
 */
export function unreadFields(body: unknown, read: unknown, others: OtherFields): string[] {
  const unread = new Set<string>();
  for (const [path, value] of leftOut(body, read, '')) {
    const known = others[path];
    if (!known) {
      if (unread.size < MAX_NAMED && value !== null) unread.add(path);
    } else if (known.verdict === 'refused' && !isNeutral(value, known.neutral)) {
      fail('REQUEST_INVALID', { field: path, problem: known.why });
    }
  }
  return [...unread];
}

/** Paths in the form that a header can have. */
export function headerOf(paths: readonly string[]): string {
  return paths.map((path) => path.slice(0, MAX_NAME_LENGTH).replaceAll(/[^\w.*-]/g, '?')).join(', ');
}

/** Members of a body's objects that validation left out. */
function* leftOut(body: unknown, read: unknown, path: string): Generator<[path: string, value: unknown]> {
  if (body === read || typeof body !== 'object' || typeof read !== 'object' || !body || !read) return;
  if (Array.isArray(body)) {
    if (!Array.isArray(read)) return;
    for (const [index, value] of body.entries()) {
      if (typeof value === 'object') yield* leftOut(value, read[index], `${path}*.`);
    }
    return;
  }
  const known = read as Readonly<Record<string, unknown>>;
  for (const [name, value] of Object.entries(body)) {
    if (!Object.hasOwn(known, name)) yield [path + name, value];
    else yield* leftOut(value, known[name], `${path}${name}.`);
  }
}

function isNeutral(value: unknown, neutral: readonly unknown[]): boolean {
  if (value === null) return true;
  const written = JSON.stringify(value);
  return neutral.some((one) => JSON.stringify(one) === written);
}

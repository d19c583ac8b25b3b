import { fail } from './errors.ts';

/**
 * Every name that an options type has: a table that lacks one, or has one more, does not compile. It is what the type is
 * where programs run.
 */
export type OptionNames<T> = { readonly [Name in keyof T]-?: true };

/**
 * Checks that options are an object of known names: what nobody reads would be left out in silence. `known` has the names as
 * its keys. Throws `INVALID_ARGUMENT`, or `OPTION_UNKNOWN` with the name and the nearest known one; names without a value ask
 * for nothing.
 */
export function checkOptions(of: string, options: unknown, known: object): void {
  if (options === undefined) return;
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    const found = options === null ? 'null' : Array.isArray(options) ? 'an array' : typeof options;
    fail('INVALID_ARGUMENT', { name: `the options of ${of}`, found, expected: 'an object' });
  }
  const names = Object.keys(options);
  // A signal or a map has no names of its own: nothing of it would be read.
  if (names.length === 0 && isOfClass(options)) {
    const found = `an object of ${options.constructor?.name || 'a class'}`;
    fail('INVALID_ARGUMENT', { name: `the options of ${of}`, found, expected: 'an object such as {signal}' });
  }
  for (const option of names) {
    if (Object.hasOwn(known, option) || options[option as keyof typeof options] === undefined) continue;
    const all = Object.keys(known);
    fail('OPTION_UNKNOWN', { of, option, nearest: nearestName(option, all), known: all.join(', ') });
  }
}

/** True for objects of classes, of whatever realm. */
function isOfClass(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype !== null && Object.getPrototypeOf(prototype) !== null;
}

/** The known name that was probably meant: the same but for its writing, a part of it, or a few letters away. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  const wanted = plain(name);
  let best: { readonly known: string; readonly distance: number } | undefined;
  for (const candidate of known) {
    const other = plain(candidate);
    const [short, long] = [wanted, other].toSorted((a, b) => a.length - b.length) as [string, string];
    const isPart = short.length > 3 && long.includes(short);
    const distance = isPart ? (long.length - short.length) / long.length : distanceOf(wanted, other);
    const most = isPart ? 1 : Math.max(wanted.length, other.length) / 3;
    if (distance <= most && (!best || distance < best.distance)) best = { known: candidate, distance };
  }
  return best?.known;
}

function plain(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '');
}

/** Letters to insert, remove or replace (Levenshtein 1966). */
function distanceOf(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 0; i < a.length; i++) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j++) {
      const replaced = (row[j] as number) + (a[i] === b[j] ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] as number) + 1, (next[j] as number) + 1));
    }
    row = next;
  }
  return row[b.length] as number;
}

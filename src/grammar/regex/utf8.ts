import type { Language } from './language-kinds.ts';
import type { Languages } from './languages.ts';

/** Ranges of code points with inclusive bounds. */
export type Ranges = readonly (readonly [number, number])[];

/**
 * By the number of continuation bytes: the code points encoded with that many, and the marker bits of the lead byte.
 */
const LENGTHS = [
  { first: 0, last: 0x7f, lead: 0 },
  { first: 0x80, last: 0x7ff, lead: 0xc0 },
  { first: 0x800, last: 0xffff, lead: 0xe0 },
  { first: 0x10000, last: 0x10ffff, lead: 0xf0 },
] as const;
const CONTINUATION = 0x80;
const SURROGATES = [0xd800, 0xdfff] as const;

/** Every Unicode scalar value. */
export const ANY_CHARACTER: Ranges = [
  [0, SURROGATES[0] - 1],
  [SURROGATES[1] + 1, 0x10ffff],
];

/** One code point of the ranges (ascending) in UTF-8; surrogates have no encoding. */
export function utf8Language(languages: Languages, ranges: Ranges): Language {
  const ends: number[] = [];
  for (const [first, last] of ranges) {
    push(ends, first, Math.min(last, SURROGATES[0] - 1));
    push(ends, Math.max(first, SURROGATES[1] + 1), last);
  }
  return languages.or(
    LENGTHS.map(({ first, last, lead }, continuations) =>
      tails(languages, clipped(ends, first, last), continuations, lead),
    ),
  );
}

/**
 * Values in the ranges (pairs of bounds, flat): one byte, marked with `mark`, for the bits above six per continuation
 * byte, then the continuation bytes.
 */
function tails(languages: Languages, ends: readonly number[], continuations: number, mark: number): Language {
  const { sets } = languages;
  if (continuations === 0) return languages.bytes(sets.ofRanges(ends.map((end) => mark | end)));
  const size = 64 ** continuations;
  // Lead bytes after which any continuation is valid, as ranges; the others with their continuations.
  const whole: number[] = [];
  const within = new Map<number, number[]>();
  for (let at = 0; at < ends.length; at += 2) {
    const first = ends[at] as number;
    const last = ends[at + 1] as number;
    const [low, high] = [Math.floor(first / size), Math.floor(last / size)];
    const isLowWhole = first === low * size && (low < high || last === low * size + size - 1);
    const isHighWhole = last === high * size + size - 1;
    if (!isLowWhole) part(within, low, first - low * size, Math.min(last - low * size, size - 1));
    if (!isHighWhole && high > low) part(within, high, 0, last - high * size);
    push(whole, mark | (isLowWhole ? low : low + 1), mark | (isHighWhole ? high : high - 1));
  }
  const byRest = new Map<Language, number[]>();
  if (whole.length > 0) byRest.set(tails(languages, [0, size - 1], continuations - 1, CONTINUATION), whole);
  for (const [top, inner] of within) {
    const rest = tails(languages, inner, continuations - 1, CONTINUATION);
    const known = byRest.get(rest);
    if (known) known.push(mark | top, mark | top);
    else byRest.set(rest, [mark | top, mark | top]);
  }
  languages.fuel.spend(whole.length + within.size);
  return languages.or(
    Array.from(byRest, ([rest, bytes]) => languages.concat(languages.bytes(sets.ofRanges(bytes)), rest)),
  );
}

function part(within: Map<number, number[]>, top: number, first: number, last: number): void {
  const known = within.get(top);
  if (known) known.push(first, last);
  else within.set(top, [first, last]);
}

function clipped(ends: readonly number[], first: number, last: number): number[] {
  const inside: number[] = [];
  for (let at = 0; at < ends.length; at += 2)
    push(inside, Math.max(ends[at] as number, first), Math.min(ends[at + 1] as number, last));
  return inside;
}

/** Adds a range unless it is empty. */
function push(ends: number[], first: number, last: number): void {
  if (first <= last) ends.push(first, last);
}

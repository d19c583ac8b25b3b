import type { Language } from './language-kinds.ts';
import type { Languages } from './languages.ts';

/** Ranges of code points, both ends included. */
export type Ranges = readonly (readonly [number, number])[];

/** By the number of continuation bytes: the code points of that length, and the bits that mark the first byte. */
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

/** One code point of the ranges (ascending) as UTF-8 writes it; surrogates have no UTF-8. */
export function utf8Language(languages: Languages, ranges: Ranges): Language {
  const scalars = ranges.flatMap(([first, last]) => [
    [first, Math.min(last, SURROGATES[0] - 1)] as const,
    [Math.max(first, SURROGATES[1] + 1), last] as const,
  ]);
  return languages.or(
    LENGTHS.map(({ first, last, lead }, continuations) =>
      tails(languages, clipped(scalars, first, last), continuations, lead),
    ),
  );
}

/** Values in the ranges as one byte, marked with `mark`, for the bits above the `continuations` times six lower ones, and the rest. */
function tails(languages: Languages, ranges: Ranges, continuations: number, mark: number): Language {
  const { sets } = languages;
  if (continuations === 0) {
    return languages.bytes(sets.of(ranges.flatMap(([first, last]) => numbers(mark | first, mark | last))));
  }
  const size = 64 ** continuations;
  const within = new Map<number, (readonly [number, number])[]>();
  for (const [first, last] of ranges) {
    for (let top = Math.floor(first / size); top <= Math.floor(last / size); top++) {
      const start = top * size;
      const part = [Math.max(first, start) - start, Math.min(last, start + size - 1) - start] as const;
      const known = within.get(top);
      if (known) known.push(part);
      else within.set(top, [part]);
    }
  }
  const byRest = new Map<Language, number[]>();
  let whole: Language | undefined;
  for (const [top, inner] of within) {
    const isWhole = inner[0]?.[0] === 0 && inner[0][1] === size - 1;
    const rest = (isWhole ? whole : undefined) ?? tails(languages, inner, continuations - 1, CONTINUATION);
    if (isWhole) whole = rest;
    const known = byRest.get(rest);
    if (known) known.push(mark | top);
    else byRest.set(rest, [mark | top]);
  }
  languages.fuel.spend(within.size);
  return languages.or(
    [...byRest].map(([rest, bytes]) => languages.concat(languages.bytes(sets.of(bytes)), rest)),
  );
}

function clipped(ranges: Ranges, first: number, last: number): Ranges {
  return ranges
    .map(([from, to]) => [Math.max(from, first), Math.min(to, last)] as const)
    .filter(([from, to]) => from <= to);
}

function numbers(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
}

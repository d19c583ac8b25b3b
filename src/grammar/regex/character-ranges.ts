/**
 * Ranges of code points with inclusive bounds, in ascending order; they do not overlap or touch, and contain no
 * surrogates.
 */
export type CharacterRanges = readonly (readonly [number, number])[];

const LAST = 0x10ffff;

/** Sorts the ranges, merges those that touch, and removes surrogates. */
export function normalizeRanges(ranges: CharacterRanges): CharacterRanges {
  const sorted = [...ranges].sort((a, b) => a[0] - b[0]);
  const merged: [number, number][] = [];
  for (const [first, last] of sorted) {
    const before = merged.at(-1);
    if (before && first <= before[1] + 1) before[1] = Math.max(before[1], last);
    else merged.push([first, last]);
  }
  return merged.flatMap(([first, last]) => {
    const parts: [number, number][] = [];
    if (first < 0xd800) parts.push([first, Math.min(last, 0xd7ff)]);
    if (last > 0xdfff) parts.push([Math.max(first, 0xe000), last]);
    return parts;
  });
}

/** All code points outside the ranges. */
export function complementRanges(ranges: CharacterRanges): CharacterRanges {
  const others: [number, number][] = [];
  let next = 0;
  for (const [first, last] of normalizeRanges(ranges)) {
    if (first > next) others.push([next, first - 1]);
    next = last + 1;
  }
  if (next <= LAST) others.push([next, LAST]);
  return normalizeRanges(others);
}

const rangesOf = (pairs: string): CharacterRanges => {
  const codes = Array.from(pairs, (character) => character.codePointAt(0) ?? 0);
  return Array.from({ length: codes.length / 2 }, (_, at) => [codes[2 * at] ?? 0, codes[2 * at + 1] ?? 0]);
};

/** What `\d`, `\w` and `\s` stand for in ECMAScript. */
export const CLASSES = {
  d: rangesOf('09'),
  w: rangesOf('09AZ__az'),
  s: rangesOf(
    '\t\r  \u00a0\u00a0\u1680\u1680\u2000\u200a\u2028\u2029\u202f\u202f\u205f\u205f\u3000\u3000\ufeff\ufeff',
  ),
} as const;

/** What `.` stands for without the flag `s`. */
export const NOT_A_LINE_END = complementRanges(rangesOf('\n\n\r\r\u2028\u2029'));

/** Spends what a piece of work costs, in the units of `Fuel`. */
export type Spend = (units: number) => void;

/** The cost of testing all characters of a plane. */
const PLANE_UNITS = 10_000;

/** The code points with a property, found by testing each with JavaScript's own regular expressions. */
function propertyRanges(property: string, spend: Spend | undefined): CharacterRanges | undefined {
  if (!/^\w+(?:=\w+)?$/.test(property)) return undefined;
  let runs: RegExp;
  try {
    runs = new RegExp(`\\p{${property}}+`, 'gu');
  } catch {
    return undefined;
  }
  const found: [number, number][] = [];
  const has = (code: number): boolean => String.fromCodePoint(code).search(runs) >= 0;
  for (let start = 0; start <= LAST; start += PAGE) {
    if (!ASSIGNED.has(start / PAGE)) {
      // All code points of such a plane are alike, except the two noncharacters at its end.
      if (has(start)) found.push([start, start + PAGE - 3]);
      if (has(start + PAGE - 1)) found.push([start + PAGE - 2, start + PAGE - 1]);
      continue;
    }
    spend?.(PLANE_UNITS);
    const width = start < PAGE ? 1 : 2;
    for (const { 0: run, index } of pageOf(start).matchAll(runs)) {
      const first = start + index / width;
      found.push([first, first + run.length / width - 1]);
    }
  }
  return normalizeRanges(found);
}

/** Planes with assigned characters: neither entirely unassigned nor for private use. */
const ASSIGNED = new Set([0, 1, 2, 3, 14]);
const PAGE = 0x10000;

/** All code points of a plane as UTF-16, with zeros in place of surrogates. */
function pageOf(start: number): string {
  const width = start < PAGE ? 1 : 2;
  const units = new Uint16Array(PAGE * width);
  for (let at = 0; at < PAGE; at++) {
    if (width === 1) units[at] = at >= 0xd800 && at <= 0xdfff ? 0 : at;
    else {
      units[2 * at] = 0xd800 + ((start - PAGE + at) >> 10);
      units[2 * at + 1] = 0xdc00 + (at & 0x3ff);
    }
  }
  let text = '';
  for (let at = 0; at < units.length; at += 0x1000)
    text += String.fromCharCode(...units.subarray(at, at + 0x1000));
  return text;
}

/** The code points of Unicode properties, cached because computing one takes milliseconds. */
export class UnicodeProperties {
  readonly #found = new Map<string, CharacterRanges | undefined>();
  readonly #spend: Spend | undefined;

  constructor(spend?: Spend) {
    this.#spend = spend;
  }

  /** The number of properties in the cache. */
  get size(): number {
    return this.#found.size;
  }

  /** By a property's name, or its name and value (`L`, `Script=Greek`); undefined for an unknown property. */
  ranges(property: string): CharacterRanges | undefined {
    if (!this.#found.has(property)) this.#found.set(property, propertyRanges(property, this.#spend));
    return this.#found.get(property);
  }
}

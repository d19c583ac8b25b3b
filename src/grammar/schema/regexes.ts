import { normalizeRanges } from '../regex/character-ranges.ts';
import type { Regex } from '../regex/regex.ts';

/** No text. */
export const NEVER: Regex = { kind: 'never' };

/** The empty text. */
export const EMPTY: Regex = { kind: 'text', text: '' };

/** One character of any kind. */
export const ANY_CHARACTER: Regex = {
  kind: 'set',
  ranges: [
    [0, 0xd7ff],
    [0xe000, 0x10ffff],
  ],
};

/** Any text. */
export const ANY_TEXT: Regex = { kind: 'repeat', part: ANY_CHARACTER, min: 0, max: Infinity };

const ONE_CHARACTER_OR_MORE: Regex = { kind: 'repeat', part: ANY_CHARACTER, min: 1, max: Infinity };

/** Exactly this text. */
export function text(value: string): Regex {
  return { kind: 'text', text: value };
}

/** One character within the ranges that each pair bounds, as in `set('09', 'az')`. */
export function set(...pairs: readonly string[]): Regex {
  return {
    kind: 'set',
    ranges: normalizeRanges(pairs.map((pair) => [pair.codePointAt(0) ?? 0, pair.codePointAt(1) ?? 0])),
  };
}

/** The concatenation; never if a part is never. */
export function sequence(...parts: readonly Regex[]): Regex {
  if (parts.some(({ kind }) => kind === 'never')) return NEVER;
  const some = parts.filter((part) => part.kind !== 'text' || part.text !== '');
  return some.length === 1 && some[0]
    ? some[0]
    : some.length === 0
      ? EMPTY
      : { kind: 'sequence', parts: some };
}

/** The alternatives, without those that are never. */
export function choice(...parts: readonly Regex[]): Regex {
  const some = parts.filter(({ kind }) => kind !== 'never');
  return some.length === 0 ? NEVER : some.length === 1 && some[0] ? some[0] : { kind: 'choice', parts: some };
}

/** The intersection. */
export function both(...parts: readonly Regex[]): Regex {
  if (parts.some(({ kind }) => kind === 'never')) return NEVER;
  const some = parts.filter((part) => part !== ANY_TEXT);
  return some.length === 0
    ? ANY_TEXT
    : some.length === 1 && some[0]
      ? some[0]
      : { kind: 'both', parts: some };
}

/** The complement. */
export function not(part: Regex): Regex {
  if (part.kind === 'never') return ANY_TEXT;
  if (part === ANY_TEXT) return NEVER;
  return part.kind === 'not' ? part.part : { kind: 'not', part };
}

/** `min` to `max` repetitions. */
export function repeat(part: Regex, min: number, max: number): Regex {
  if (max < min) return NEVER;
  if (max === 0) return EMPTY;
  if (min === 1 && max === 1) return part;
  if (part.kind === 'never') return min === 0 ? EMPTY : NEVER;
  return { kind: 'repeat', part, min, max };
}

/** Zero or one. */
export function optional(part: Regex): Regex {
  return repeat(part, 0, 1);
}

/** Texts of `min` to `max` characters. */
export function ofLength(min: number, max: number): Regex {
  if (min === 0 && max === Infinity) return ANY_TEXT;
  if (min === 1 && max === Infinity) return ONE_CHARACTER_OR_MORE;
  return repeat(ANY_CHARACTER, min, max);
}

/** False when the operators show that there is a text; `someText` holds languages that are known to have one. */
export function mayBeEmpty(regex: Regex, someText?: ReadonlySet<Regex>): boolean {
  if (someText?.has(regex)) return false;
  switch (regex.kind) {
    case 'text':
    case 'multiple':
      return false;
    case 'set':
      return regex.ranges.length === 0;
    case 'sequence':
      return regex.parts.some((part) => mayBeEmpty(part, someText));
    case 'choice':
      return regex.parts.every((part) => mayBeEmpty(part, someText));
    case 'repeat':
      return regex.min > 0 && mayBeEmpty(regex.part, someText);
    case 'never':
    case 'both':
    case 'not':
      return true;
  }
}

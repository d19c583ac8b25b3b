import type { Regex } from '../regex/regex.ts';
import { compare, type Decimal, decimalOf, negative } from './decimal.ts';
import {
  type Bound,
  hasNumber,
  listNumbers,
  nearestNumbers,
  type NumberRange,
  type Numbers,
} from './numbers.ts';
import { both, choice, EMPTY, NEVER, not, optional, repeat, sequence, set, text } from './regexes.ts';

// Numerals are plain (`12.50`), or scientific where JSON.stringify writes them so (`1.5e-7` below 1e-6, `1e+21` from
// 1e21).
const MAX_WHOLE = 21;
const MAX_FRACTION = 24;
const LARGE = 21;
const SMALL = 7;

const digit = set('09');
const positive = set('19');
const dot = text('.');
const whole = choice(text('0'), sequence(positive, repeat(digit, 0, MAX_WHOLE - 1)));
const fraction = sequence(dot, repeat(digit, 1, MAX_FRACTION));
const shortFraction = sequence(dot, repeat(digit, 1, 20));

/** A range of digits. */
function digitsFrom(low: number, high: number): Regex {
  return low > high ? NEVER : set(`${low}${high}`);
}

/** Digit strings that share a prefix with `digits` and then have a larger digit, or a smaller one. */
function differing(digits: string, side: 1 | -1, rest: (left: number) => Regex): Regex[] {
  return Array.from(digits, (character, at) => {
    const own = Number(character);
    const other = side > 0 ? digitsFrom(own + 1, 9) : digitsFrom(0, own - 1);
    return sequence(text(digits.slice(0, at)), other, rest(digits.length - at - 1));
  });
}

/** Plain numerals above an unsigned number (`side` 1) or below it, and the number itself with `orEqual`. */
function plainBeyond(bound: Decimal, side: 1 | -1, orEqual: boolean): Regex {
  const digits = bound.digits.toString().padStart(bound.scale + 1, '0');
  const own = digits.slice(0, digits.length - bound.scale);
  const part = digits.slice(digits.length - bound.scale);
  const anyFraction = optional(sequence(dot, repeat(digit, 1, Infinity)));
  const other =
    side > 0
      ? sequence(positive, repeat(digit, own.length, Infinity))
      : choice(text('0'), sequence(positive, repeat(digit, 0, own.length - 2)));
  const longer = side < 0 && own.length < 2 ? NEVER : other;
  // A whole part of the same length does not begin with zero, unless it is zero.
  const asLong = both(
    choice(...differing(own, side, (left) => repeat(digit, left, left))),
    choice(text('0'), sequence(positive, repeat(digit, 0, Infinity))),
  );
  return choice(
    sequence(choice(longer, asLong), anyFraction),
    sequence(text(own), fractionBeyond(part, side, orEqual)),
  );
}

/** What follows the whole part of a number whose fraction has these digits, for the numbers above or below it. */
function fractionBeyond(digits: string, side: 1 | -1, orEqual: boolean): Regex {
  const any = repeat(digit, 0, Infinity);
  const nonZero = sequence(repeat(text('0'), 0, Infinity), positive, any);
  const more = sequence(dot, text(digits), nonZero);
  const less =
    digits === '' ? NEVER : choice(EMPTY, ...shorter(digits).map((start) => sequence(dot, text(start))));
  const differ = choice(...differing(digits, side, () => any).map((part) => sequence(dot, part)));
  return choice(orEqual ? equalFraction(digits) : NEVER, side > 0 ? more : less, differ);
}

/** The proper nonempty prefixes of a digit string. */
function shorter(digits: string): string[] {
  return Array.from({ length: Math.max(0, digits.length - 1) }, (_, at) => digits.slice(0, at + 1));
}

/** The integers of a range as exponents are written. */
function exponents(low: number, high: number): Regex {
  if (low > high) return NEVER;
  const [first, last] = [String(low), String(high)];
  if (first.length < last.length) {
    const nines = Number('9'.repeat(first.length));
    return choice(exponents(low, nines), exponents(nines + 1, high));
  }
  if (first.length === 1) return digitsFrom(low, high);
  const [tens, most] = [Math.floor(low / 10), Math.floor(high / 10)];
  if (tens === most) return sequence(text(String(tens)), digitsFrom(low % 10, high % 10));
  const from = low % 10 === 0 ? tens : tens + 1;
  const to = high % 10 === 9 ? most : most - 1;
  return choice(
    from > tens ? sequence(text(String(tens)), digitsFrom(low % 10, 9)) : NEVER,
    from <= to ? sequence(exponents(from, to), digit) : NEVER,
    to < most ? sequence(text(String(most)), digitsFrom(0, high % 10)) : NEVER,
  );
}

/** Scientific numerals above or below an unsigned number, with large or small exponents. */
function scientificBeyond(bound: Decimal, side: 1 | -1, orEqual: boolean): Regex {
  const digits = bound.digits.toString();
  const own = digits.length - 1 - bound.scale;
  const mantissa = sequence(positive, optional(shortFraction));
  const isLargest = (exponent: number): boolean => exponent === 308;
  const of = (exponent: number, range: Regex): Regex =>
    sequence(range, text(exponent < 0 ? `e${exponent}` : `e+${exponent}`));
  const between = (low: number, high: number, sign: string): Regex =>
    low > high ? NEVER : sequence(mantissa, text(`e${sign}`), exponents(low, high));
  const parts: Regex[] = [];
  const isZero = bound.digits === 0n;
  const [from, to] =
    side > 0 ? [isZero ? -Infinity : own + 1, Infinity] : [-Infinity, isZero ? -Infinity : own - 1];
  parts.push(between(Math.max(LARGE, from), Math.min(307, to), '+'));
  parts.push(between(Math.max(SMALL, -to), Math.min(323, -from), '-'));
  if (from <= 308 && to >= 308) parts.push(of(308, both(mantissa, largest)));
  if (from <= -324 && to >= -324) parts.push(of(-324, sequence(set('59'), optional(shortFraction))));
  if (!isZero && (own >= LARGE || own <= -SMALL) && own <= 308) {
    const scaled: Decimal = { digits: bound.digits, scale: digits.length - 1 };
    const range = both(mantissa, plainBeyond(trimmed(scaled), side, orEqual));
    parts.push(of(own, isLargest(own) ? both(range, largest) : range));
  }
  return choice(...parts);
}

function trimmed({ digits, scale }: Decimal): Decimal {
  let [value, places] = [digits, scale];
  while (places > 0 && value % 10n === 0n) [value, places] = [value / 10n, places - 1];
  return { digits: value, scale: places };
}

/** The mantissas for which 1e308 is still finite. */
const largest = plainBeyond(decimalOf(1.7976931348623157), -1, true);
const ZERO: Decimal = { digits: 0n, scale: 0 };
const plain = sequence(whole, optional(fraction));
const scientific = scientificBeyond(ZERO, 1, false);
const isSmooth = ({ digits }: Decimal): boolean => 10n ** 40n % digits === 0n;

/** Unsigned numerals between two bounds; `low` is zero or more. */
function unsigned(range: NumberRange, low: Bound, high: Bound | undefined): Regex {
  const plainParts: Regex[] = [range.isInteger ? whole : plain];
  const scientificParts: Regex[] = [scientific];
  for (const [bound, side] of [[low, 1] as const, [high, -1] as const]) {
    if (!bound || (side > 0 && bound.at.digits === 0n && !bound.exclusive)) continue;
    plainParts.push(plainBeyond(bound.at, side, !bound.exclusive));
    scientificParts.push(scientificBeyond(bound.at, side, !bound.exclusive));
  }
  const { step } = range;
  if (step && !(range.isInteger && step.digits === 1n && step.scale === 0)) plainParts.push(multiples(step));
  if (step) scientificParts.push(scientificMultiples(step));
  for (const off of range.offSteps) {
    plainParts.push(not(multiples(off)));
    // Numbers smaller than a step are not multiples of it; for large ones, only powers of ten are checked.
    scientificParts.push(compare(off, decimalOf(1e-6)) >= 0 ? smallOnly : NEVER);
  }
  for (const value of range.without) {
    if (value < 0) continue;
    plainParts.push(not(plainSpellings(value)));
    scientificParts.push(not(scientificSpellings(value)));
  }
  return choice(both(...plainParts), both(...scientificParts));
}

const mantissa = sequence(positive, optional(shortFraction));
const smallOnly = sequence(mantissa, text('e-'), exponents(SMALL, 324));

function multiples(step: Decimal): Regex {
  return { kind: 'multiple', step: step.digits, scale: step.scale };
}

/** Scientific numerals that are multiples of a step, where their form shows it. */
function scientificMultiples(step: Decimal): Regex {
  const parts: Regex[] = [];
  // From 1e21 on, at most 17 digits precede four or more zeros.
  const isOfTens = isSmooth(step) && 10n ** BigInt(step.scale + 4) % step.digits === 0n;
  if (isOfTens) {
    const short = sequence(positive, optional(sequence(dot, repeat(digit, 1, 17))));
    parts.push(sequence(short, text('e+'), exponents(LARGE, 308)));
  }
  for (let exponent = SMALL; step.digits === 1n && exponent <= Math.min(step.scale, 324); exponent++) {
    const places = Math.min(20, step.scale - exponent);
    const short =
      places === 0 ? positive : sequence(positive, optional(sequence(dot, repeat(digit, 1, places))));
    parts.push(sequence(short, text(`e-${exponent}`)));
  }
  return choice(...parts);
}

/** Every plain numeral of an unsigned number. */
function plainSpellings(value: number): Regex {
  const { digits, scale } = decimalOf(value);
  const all = digits.toString().padStart(scale + 1, '0');
  const point = all.length - scale;
  return sequence(text(all.slice(0, point)), equalFraction(all.slice(point)));
}

function equalFraction(digits: string): Regex {
  const zeros = repeat(text('0'), 0, Infinity);
  return digits === '' ? optional(sequence(dot, text('0'), zeros)) : sequence(dot, text(digits), zeros);
}

function scientificSpellings(value: number): Regex {
  const [digits = '', exponent] = String(value).split('e');
  if (exponent === undefined) return NEVER;
  const [own = '', part = ''] = digits.split('.');
  return sequence(text(own), equalFraction(part), text(`e${exponent}`));
}

/** The bound for the negated numbers. */
function mirrored(bound: Bound | undefined): Bound | undefined {
  return bound && { at: negative(bound.at), exclusive: bound.exclusive };
}

const isBelowZero = (bound: Bound): boolean => bound.at.digits < 0n;
const FROM_ZERO: Bound = { at: ZERO, exclusive: false };
const ABOVE_ZERO: Bound = { at: ZERO, exclusive: true };

/** Numerals for a range's nonnegative numbers, or for its negative ones, without the sign. */
function half(range: NumberRange, least: Bound): Regex {
  const { low, high } = range;
  if (high && (isBelowZero(high) || (high.at.digits === 0n && (high.exclusive || least.exclusive))))
    return NEVER;
  const isBounded = low !== undefined && !isBelowZero(low) && (low.at.digits > 0n || low.exclusive);
  return unsigned(range, isBounded ? low : least, high);
}

/**
 * The JSON numerals of a set of numbers: as JSON.stringify writes them, and plain ones with up to 24 decimals. With
 * `isCanonical`, one numeral per number. For multiples with too many remainders, only those near zero are written.
 * Multiples above 1e21 are left out unless they are obviously multiples.
 */
export function numberRegex(numbers: Numbers, isCanonical = false): Regex {
  if (numbers.kind === 'list')
    return choice(...Array.from(numbers.values, (value) => text(JSON.stringify(value))));
  const few = listNumbers(numbers);
  if (few && (numbers.isInteger || few.values.size <= 16)) return numberRegex(few);
  const nearest = few ? undefined : nearestNumbers(numbers);
  if (nearest) return numberRegex(nearest);
  const mirror: NumberRange = {
    ...numbers,
    without: new Set(Array.from(numbers.without, (value) => -value)),
  };
  const { low: _low, high: _high, ...unbounded } = mirror;
  const [low, high] = [mirrored(numbers.high), mirrored(numbers.low)];
  const below = half({ ...unbounded, ...(low && { low }), ...(high && { high }) }, ABOVE_ZERO);
  const above = half(numbers, FROM_ZERO);
  const canonical = (part: Regex): Regex => (isCanonical ? both(part, CANONICAL) : part);
  const zero =
    below.kind !== 'never' && !isCanonical && hasNumber(numbers, 0) ? sequence(text('-0'), zeros) : NEVER;
  const minus = (part: Regex): Regex => (part.kind === 'never' ? NEVER : sequence(text('-'), part));
  return choice(
    canonical(above),
    minus(canonical(below)),
    numbers.isInteger && zero.kind !== 'never' ? text('-0') : zero,
  );
}

const zeros = optional(sequence(dot, repeat(text('0'), 1, MAX_FRACTION)));

/** Unsigned numerals without trailing zeros in the fraction, scientific exactly where JSON.stringify's are. */
const CANONICAL = both(
  not(sequence(repeat(digit, 1, Infinity), dot, repeat(digit, 0, Infinity), text('0'))),
  not(sequence(text('0.000000'), repeat(digit, 0, Infinity))),
  not(
    sequence(
      positive,
      dot,
      repeat(digit, 0, Infinity),
      text('0e'),
      repeat(set('++', '--', '09'), 1, Infinity),
    ),
  ),
);

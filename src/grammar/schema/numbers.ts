import {
  compare,
  type Decimal,
  decimalOf,
  isMultiple,
  leastCommonMultiple,
  magnitude,
  remainders,
  stepsTo,
  times,
  toNumber,
} from './decimal.ts';

/** An end of a range. */
export interface Bound {
  readonly at: Decimal;
  readonly exclusive: boolean;
}

/** Numbers between two bounds, on a grid, without some. */
export interface NumberRange {
  readonly kind: 'range';
  readonly low?: Bound;
  readonly high?: Bound;
  /** All are whole multiples of this, which is above zero. */
  readonly step?: Decimal;
  /** None is a whole multiple of one of these. */
  readonly offSteps: readonly Decimal[];
  /** None of these is in it. */
  readonly without: ReadonlySet<number>;
  /** They are integers by name (`type`), so that they are written without a fraction. */
  readonly isInteger: boolean;
}

/** These numbers. */
export interface NumberList {
  readonly kind: 'list';
  readonly values: ReadonlySet<number>;
}

/** A set of numbers. */
export type Numbers = NumberRange | NumberList;

const ONE: Decimal = { digits: 1n, scale: 0 };

/** Every number. */
export const ANY_NUMBER: NumberRange = { kind: 'range', offSteps: [], without: new Set(), isInteger: false };

/** Every integer. */
export const ANY_INTEGER: NumberRange = { ...ANY_NUMBER, step: ONE, isInteger: true };

/** True where a set has a number. */
export function hasNumber(set: Numbers, value: number): boolean {
  if (set.kind === 'list') return set.values.has(value);
  const exact = decimalOf(value);
  return (
    isAbove(exact, set.low) &&
    isBelow(exact, set.high) &&
    (set.step === undefined || isMultiple(exact, set.step)) &&
    !set.offSteps.some((step) => isMultiple(exact, step)) &&
    !set.without.has(value)
  );
}

function isAbove(value: Decimal, low: Bound | undefined): boolean {
  if (!low) return true;
  const order = compare(value, low.at);
  return order > 0 || (order === 0 && !low.exclusive);
}

function isBelow(value: Decimal, high: Bound | undefined): boolean {
  if (!high) return true;
  const order = compare(value, high.at);
  return order < 0 || (order === 0 && !high.exclusive);
}

/** The numbers of both sets; undefined where there are none. */
export function bothNumbers(a: Numbers, b: Numbers): Numbers | undefined {
  if (a === ANY_NUMBER) return b;
  if (b === ANY_NUMBER) return a;
  if (a.kind === 'list' || b.kind === 'list') {
    const [list, other] = a.kind === 'list' ? [a, b] : [b as NumberList, a];
    const values = [...list.values].filter((value) => hasNumber(other, value));
    return values.length === 0 ? undefined : { kind: 'list', values: new Set(values) };
  }
  const low = tighter(a.low, b.low, 1);
  const high = tighter(a.high, b.high, -1);
  const step = a.step && b.step ? leastCommonMultiple(a.step, b.step) : (a.step ?? b.step);
  const range: NumberRange = {
    kind: 'range',
    ...(low && { low }),
    ...(high && { high }),
    ...(step && { step }),
    offSteps: [...new Set([...a.offSteps, ...b.offSteps])],
    without: new Set([...a.without, ...b.without]),
    isInteger: a.isInteger || b.isInteger,
  };
  return isWithoutNumber(range) ? undefined : range;
}

/** The bound that leaves less, where `side` is 1 for lower bounds and -1 for upper ones. */
function tighter(a: Bound | undefined, b: Bound | undefined, side: 1 | -1): Bound | undefined {
  if (!a || !b) return a ?? b;
  const order = compare(a.at, b.at) * side;
  if (order === 0) return a.exclusive ? a : b;
  return order > 0 ? a : b;
}

const MAX_LISTED = 1024n;

/** How many numbers a set has: exact up to 1024, Infinity where there are more or nothing says that they are few. */
export function countNumbers(set: Numbers): number {
  return listNumbers(set)?.values.size ?? Infinity;
}

/** A set of at most 1024 numbers as their list. */
export function listNumbers(set: Numbers): NumberList | undefined {
  if (set.kind === 'list') return set;
  const grid = gridOf(set);
  if (!grid) return undefined;
  const { step, first, last } = grid;
  if (set.offSteps.length === 0 && compare(step, ONE) === 0 && isExact(first) && isExact(last)) {
    return { kind: 'list', values: integers(Number(first), Number(last), set.without) };
  }
  const values: Decimal[] = [];
  for (let at = first; at <= last; at++) values.push(times(step, at));
  return listOf(values, set);
}

/** True for a set of at most 1024 numbers, or of none: looked at one by one, for the first of them shows that it is not so. */
function isWithoutNumber(set: NumberRange): boolean {
  const grid = gridOf(set);
  if (!grid) return false;
  for (let at = grid.first; at <= grid.last; at++) {
    if (listOf([times(grid.step, at)], set).values.size > 0) return false;
  }
  return true;
}

/** The multiples of a step among which all numbers of a set are; undefined where they are more than 1024, or no such multiples. */
function gridOf(set: NumberRange): { step: Decimal; first: bigint; last: bigint } | undefined {
  const { low, high, step } = set;
  const nothing = { step: ONE, first: 1n, last: 0n };
  if (step && set.offSteps.some((off) => isMultiple(step, off))) return nothing;
  if (!low || !high) return undefined;
  const order = compare(low.at, high.at);
  if (order > 0 || (order === 0 && (low.exclusive || high.exclusive))) return nothing;
  if (order === 0) return { step: low.at, first: 1n, last: 1n };
  if (!step) return undefined;
  let first = stepsTo(low.at, step, false);
  let last = stepsTo(high.at, step, true);
  if (low.exclusive && isMultiple(low.at, step)) first++;
  if (high.exclusive && isMultiple(high.at, step)) last--;
  return last - first >= MAX_LISTED ? undefined : { step, first, last };
}

function isExact(value: bigint): boolean {
  return Number.isSafeInteger(Number(value));
}

function integers(first: number, last: number, without: ReadonlySet<number>): Set<number> {
  const values = new Set<number>();
  for (let value = first; value <= last; value++) if (!without.has(value)) values.add(value);
  return values;
}

function listOf(values: readonly Decimal[], set: NumberRange): NumberList {
  // A number of JavaScript stands for its text, so what it cannot hold exactly is left to the range.
  const exact = values.map(toNumber).map((value) => (value === 0 ? 0 : value));
  return { kind: 'list', values: new Set(exact.filter((value) => hasNumber(set, value))) };
}

/** Every number that is not in a set, as sets that may overlap. */
export function otherNumbers(set: Numbers): Numbers[] {
  if (set.kind === 'list') return [{ ...ANY_NUMBER, without: set.values }];
  const others: Numbers[] = [];
  if (set.low) others.push({ ...ANY_NUMBER, high: { at: set.low.at, exclusive: !set.low.exclusive } });
  if (set.high) others.push({ ...ANY_NUMBER, low: { at: set.high.at, exclusive: !set.high.exclusive } });
  if (set.step) others.push({ ...ANY_NUMBER, offSteps: [set.step] });
  for (const step of set.offSteps) others.push({ ...ANY_NUMBER, step });
  if (set.without.size > 0) others.push({ kind: 'list', values: set.without });
  return others;
}

/** A numeral is divided as its digits are read, which takes a state for each remainder: with more than so many, multiples are listed. */
const MAX_REMAINDERS = 10_000;
const NEAREST = 2000n;

/**
 * For a set of multiples of a number with too many remainders, those of its members that are next to zero or to the bound that is
 * next to it: 4000 at most. Undefined for other sets.
 */
export function nearestNumbers(set: NumberRange): NumberList | undefined {
  const { low, high, step } = set;
  if (!step || remainders(step) <= MAX_REMAINDERS) return undefined;
  let middle = 0n;
  if (low && low.at.digits > 0n) middle = stepsTo(low.at, step, true) + NEAREST;
  if (high && high.at.digits < 0n) middle = stepsTo(high.at, step, false) - NEAREST;
  const values: Decimal[] = [];
  for (let at = middle - NEAREST; at <= middle + NEAREST; at++) values.push(times(step, at));
  return listOf(values, set);
}

/** True where a set takes no numbers that are multiples of one with too many remainders, which no list says. */
export function isTooFine(set: Numbers): boolean {
  return set.kind === 'range' && set.offSteps.some((step) => remainders(step) > MAX_REMAINDERS);
}

/** True for a set that has numbers, whatever numerals are written: a range without a grid, or of integers that are not too large. */
export function isSurelyWritten(set: Numbers): boolean {
  if (set.kind === 'list') return set.values.size > 0;
  if (set.offSteps.length > 0 || listNumbers(set)) return false;
  if (!set.step) return true;
  const isNear = (bound: Bound | undefined): boolean => !bound || compare(magnitude(bound.at), FAR) < 0;
  return compare(set.step, ONE) === 0 && isNear(set.low) && isNear(set.high);
}

const FAR = decimalOf(1e20);

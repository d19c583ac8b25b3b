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

/** One end of a range. */
export interface Bound {
  readonly at: Decimal;
  readonly exclusive: boolean;
}

/** Numbers between two bounds, possibly on a grid, with some excluded. */
export interface NumberRange {
  readonly kind: 'range';
  readonly low?: Bound;
  readonly high?: Bound;
  /** All are multiples of this positive number. */
  readonly step?: Decimal;
  /** None is a multiple of any of these. */
  readonly offSteps: readonly Decimal[];
  /** None of these is included. */
  readonly without: ReadonlySet<number>;
  /** Declared as integers (`type`), so they are written without a fraction. */
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

/** True when a set contains a number. */
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

/** The numbers in both sets; undefined when there are none. */
export function intersectNumbers(a: Numbers, b: Numbers): Numbers | undefined {
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

/** The tighter bound; `side` is 1 for lower bounds and -1 for upper ones. */
function tighter(a: Bound | undefined, b: Bound | undefined, side: 1 | -1): Bound | undefined {
  if (!a || !b) return a ?? b;
  const order = compare(a.at, b.at) * side;
  if (order === 0) return a.exclusive ? a : b;
  return order > 0 ? a : b;
}

const MAX_LISTED = 1024n;

/** The size of a set: exact up to 1024, Infinity for larger or unknown ones. */
export function countNumbers(set: Numbers): number {
  return listNumbers(set)?.values.size ?? Infinity;
}

/** A set of at most 1024 numbers as a list. */
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

/**
 * True for an empty set, of at most 1024 candidates; they are tested one by one, since usually the first is in the set.
 */
function isWithoutNumber(set: NumberRange): boolean {
  const grid = gridOf(set);
  if (!grid) return false;
  for (let at = grid.first; at <= grid.last; at++) {
    if (listOf([times(grid.step, at)], set).values.size > 0) return false;
  }
  return true;
}

/** The grid points that contain all numbers of a set; undefined when there are more than 1024, or no grid. */
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
  // Only numbers that JavaScript represents exactly are listed; others stay a range.
  const exact = values.map(toNumber).map((value) => (value === 0 ? 0 : value));
  return { kind: 'list', values: new Set(exact.filter((value) => hasNumber(set, value))) };
}

/** The complement of a set, as sets that may overlap. */
export function complementNumbers(set: Numbers): Numbers[] {
  if (set.kind === 'list') return [{ ...ANY_NUMBER, without: set.values }];
  const others: Numbers[] = [];
  if (set.low) others.push({ ...ANY_NUMBER, high: { at: set.low.at, exclusive: !set.low.exclusive } });
  if (set.high) others.push({ ...ANY_NUMBER, low: { at: set.high.at, exclusive: !set.high.exclusive } });
  if (set.step) others.push({ ...ANY_NUMBER, offSteps: [set.step] });
  for (const step of set.offSteps) others.push({ ...ANY_NUMBER, step });
  if (set.without.size > 0) others.push({ kind: 'list', values: set.without });
  return others;
}

/**
 * Reading a numeral with long division takes one state per remainder; above this limit, multiples are listed instead.
 */
const MAX_REMAINDERS = 10_000;
const NEAREST = 2000n;

/**
 * For a set of multiples with too many remainders: its members near zero, or near the bound closest to zero, at most
 * 4000. Undefined for other sets.
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

/** True when a set excludes multiples with too many remainders, for which there is no list. */
export function isTooFine(set: Numbers): boolean {
  return set.kind === 'range' && set.offSteps.some((step) => remainders(step) > MAX_REMAINDERS);
}

/** True for a set that surely has a numeral: a range without a grid, or of integers that are not too large. */
export function isSurelyWritten(set: Numbers): boolean {
  if (set.kind === 'list') return set.values.size > 0;
  if (set.offSteps.length > 0 || listNumbers(set)) return false;
  if (!set.step) return true;
  const isNear = (bound: Bound | undefined): boolean => !bound || compare(magnitude(bound.at), FAR) < 0;
  return compare(set.step, ONE) === 0 && isNear(set.low) && isNear(set.high);
}

const FAR = decimalOf(1e20);

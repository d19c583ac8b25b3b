import { type Group, nearestWithin } from './block-source.ts';
import type { AffineSearch } from '../group-fits.ts';

const { fround } = Math;

/** A scale and a value to subtract, neither negative: an element is `scale * q - min`. */
export interface AffineFit {
  readonly scale: number;
  readonly min: number;
  /** What the codes were rounded with: `q` is the nearest integer to `inverse * (value - low)`. */
  readonly inverse: number;
  readonly low: number;
}

/** The search for weights by importance. */
export const WIDE_SEARCH: AffineSearch = { from: fround(-0.9), step: fround(0.05), count: 37 };

/**
 * The scale and min with which codes 0 to `limit` come closest to a group, in weighted error. For each candidate the
 * codes are rounded, and scale and min then solved for these codes by least squares. All sums are f32 in the order of
 * ggml's `make_qkx3_quants`, so that the result is the same bit by bit.
 */
export function fitAffine(group: Group, limit: number, search: AffineSearch): AffineFit {
  const { low, high, sumW, sumX } = rangeOf(group);
  if (high <= low) return { scale: 0, min: -low, inverse: 0, low };
  const inverse = fround(limit / fround(high - low));
  let best: AffineFit = { scale: fround(1 / inverse), min: -low, inverse, low };
  const codes = new Float32Array(group.count);
  roundCodes(group, best, limit, codes);
  let bestError = errorOf(group, codes, best, search.magnitudes);
  for (let i = 0; i < search.count; i++) {
    const steps = fround(fround(search.from + fround(search.step * i)) + limit);
    // Rounded from where the best fit so far has its zero: it may have moved.
    const from = -best.min;
    const rounding = { inverse: fround(steps / fround(high - from)), low: from };
    const sums = roundCodes(group, rounding, limit, codes);
    const fit = solve(sums, sumW, sumX);
    if (!fit) continue;
    const error = errorOf(group, codes, fit, search.magnitudes);
    if (error < bestError) {
      best = { ...fit, ...rounding };
      bestError = error;
    }
  }
  return best;
}

/** The code for a value with the rounding of a fit. */
export function fittedCode(value: number, { inverse, low }: AffineFit, limit: number): number {
  return nearestWithin(fround(inverse * fround(value - low)), 0, limit);
}

/** Zero is within the range, since a min is subtracted and never added. */
function rangeOf({ values, from, count, weights }: Group) {
  let low = values[from] as number;
  let high = low;
  let sumW = 0;
  let sumX = 0;
  for (let i = 0; i < count; i++) {
    const value = values[from + i] as number;
    const weight = weights[i] as number;
    if (value < low) low = value;
    if (value > high) high = value;
    sumW = fround(sumW + weight);
    sumX = fround(sumX + fround(weight * value));
  }
  return { low: Math.min(low, 0), high, sumW, sumX };
}

/** Weighted sums of the codes of a group. */
interface CodeSums {
  readonly sumQ: number;
  readonly sumQ2: number;
  readonly sumQX: number;
}

/** Writes the codes that a rounding gives. */
function roundCodes(
  { values, from, count, weights }: Group,
  { inverse, low }: Pick<AffineFit, 'inverse' | 'low'>,
  limit: number,
  codes: Float32Array,
): CodeSums {
  let sumQ = fround(0);
  let sumQ2 = fround(0);
  let sumQX = fround(0);
  for (let i = 0; i < count; i++) {
    const value = values[from + i] as number;
    const code = nearestWithin(fround(inverse * fround(value - low)), 0, limit);
    codes[i] = code;
    const product = fround((weights[i] as number) * code);
    sumQ = fround(sumQ + product);
    sumQ2 = fround(sumQ2 + fround(product * code));
    sumQX = fround(sumQX + fround(product * value));
  }
  return { sumQ, sumQ2, sumQX };
}

/** Scale and min by least squares; undefined if the codes are all alike. */
function solve({ sumQ, sumQ2, sumQX }: CodeSums, sumW: number, sumX: number) {
  const determinant = fround(fround(sumW * sumQ2) - fround(sumQ * sumQ));
  if (!(determinant > 0)) return undefined;
  const low = fround(fround(fround(sumQ2 * sumX) - fround(sumQ * sumQX)) / determinant);
  if (low > 0) return { scale: fround(sumQX / sumQ2), min: 0 };
  return { scale: fround(fround(fround(sumW * sumQX) - fround(sumX * sumQ)) / determinant), min: -low };
}

function errorOf(
  { values, from, count, weights }: Group,
  codes: Float32Array,
  { scale, min }: Pick<AffineFit, 'scale' | 'min'>,
  magnitudes: true | undefined,
): number {
  let sum = fround(0);
  for (let i = 0; i < count; i++) {
    const difference = fround(
      fround(fround(scale * (codes[i] as number)) - min) - (values[from + i] as number),
    );
    const error = magnitudes ? Math.abs(difference) : fround(difference * difference);
    sum = fround(sum + fround((weights[i] as number) * error));
  }
  return sum;
}

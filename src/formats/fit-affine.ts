/** A scale and a value to subtract, neither negative: an element is `scale * q - min`. */
export interface AffineFit {
  readonly scale: number;
  readonly min: number;
}

/** Inverse scales that are tried around the range's own: with outliers a shorter range has the smaller error. */
const CANDIDATES = 21;
const STEP = 0.1;

/**
 * The scale and min with which codes 0 to `limit` come closest to `values[from .. from + count)`, in squared error
 * weighted by magnitude: large weights move a product most. For each candidate scale the codes are rounded, and scale
 * and min then solved for these codes by least squares.
 */
export function fitAffine(values: Float32Array, from: number, count: number, limit: number): AffineFit {
  const { low, high, weights } = rangeAndWeights(values, from, count);
  if (high === low) return { scale: 0, min: -low };
  let best: AffineFit = { scale: (high - low) / limit, min: -low };
  let bestError = errorOf(values, from, weights, best, limit);
  for (let candidate = 0; candidate < CANDIDATES; candidate++) {
    const inverse = (limit - 1 + STEP * candidate) / (high - low);
    const fit = solve(values, from, weights, { scale: 1 / inverse, min: -low }, limit);
    const error = errorOf(values, from, weights, fit, limit);
    if (error < bestError) {
      best = fit;
      bestError = error;
    }
  }
  return best;
}

/** The code for a value: the nearest in 0 to `limit`. */
export function affineCode(value: number, { scale, min }: AffineFit, limit: number): number {
  if (scale === 0) return 0;
  return Math.min(limit, Math.max(0, Math.round((value + min) / scale)));
}

function rangeAndWeights(values: Float32Array, from: number, count: number) {
  // Zero is within the range, since a min is subtracted and never added.
  let low = 0;
  let high = -Infinity;
  let squares = 0;
  for (let i = from; i < from + count; i++) {
    const value = values[i] as number;
    if (value < low) low = value;
    if (value > high) high = value;
    squares += value * value;
  }
  const typical = Math.sqrt(squares / count);
  const weights = Float64Array.from(
    { length: count },
    (_, i) => typical + Math.abs(values[from + i] as number),
  );
  return { low, high: Math.max(high, low), weights };
}

/** Scale and min by least squares for the codes that `start` rounds to; `start` itself if they are all alike. */
function solve(
  values: Float32Array,
  from: number,
  weights: Float64Array,
  start: AffineFit,
  limit: number,
): AffineFit {
  let sumW = 0;
  let sumQ = 0;
  let sumQ2 = 0;
  let sumX = 0;
  let sumQX = 0;
  for (let i = 0; i < weights.length; i++) {
    const w = weights[i] as number;
    const x = values[from + i] as number;
    const q = affineCode(x, start, limit);
    sumW += w;
    sumQ += w * q;
    sumQ2 += w * q * q;
    sumX += w * x;
    sumQX += w * q * x;
  }
  const determinant = sumW * sumQ2 - sumQ * sumQ;
  if (determinant <= 0) return start;
  const scale = (sumW * sumQX - sumQ * sumX) / determinant;
  const min = (sumQ * sumQX - sumQ2 * sumX) / determinant;
  if (scale <= 0) return start;
  return min >= 0 ? { scale, min } : { scale: sumQX / sumQ2, min: 0 };
}

function errorOf(
  values: Float32Array,
  from: number,
  weights: Float64Array,
  fit: AffineFit,
  limit: number,
): number {
  let sum = 0;
  for (let i = 0; i < weights.length; i++) {
    const x = values[from + i] as number;
    const difference = fit.scale * affineCode(x, fit, limit) - fit.min - x;
    sum += (weights[i] as number) * difference * difference;
  }
  return sum;
}

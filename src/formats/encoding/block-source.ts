import type { GroupFits } from '../group-fits.ts';

const { fround } = Math;

/** The elements that an encoder turns into blocks, and the place of the block at hand. */
export interface BlockSource {
  readonly values: Float32Array;
  /** How much the square of each element's error counts; absent if nothing is known of it. As long as `values`. */
  readonly importance: Float32Array | undefined;
  /** The mean square of all values, an f32; 0 without importance. */
  readonly meanSquare: number;
  readonly fits: GroupFits;
  /** The index of the block's first element. */
  from: number;
}

/** A source at the first of `values`; all of one row if there is an importance. */
export function blockSource(
  values: Float32Array,
  importance: Float32Array | undefined,
  fits: GroupFits,
): BlockSource {
  const meanSquare = importance ? meanSquareOf(values, 0, values.length) : 0;
  return { values, importance, meanSquare, fits, from: 0 };
}

/** Hands the elements of a block of 256 over to be fitted. */
export function loadBlock({ values, from, fits }: BlockSource): GroupFits {
  for (let i = 0; i < fits.values.length; i++) fits.values[i] = values[from + i] as number;
  return fits;
}

/** The mean of the squares of `count` values, summed in f32. */
export function meanSquareOf(values: Float32Array, from: number, count: number): number {
  let sum = 0;
  for (let i = from; i < from + count; i++) {
    const value = values[i] as number;
    sum = fround(sum + fround(value * value));
  }
  return fround(sum / count);
}

/** Elements that share a scale. */
export interface Group {
  readonly values: Float32Array;
  readonly from: number;
  readonly count: number;
  /** How much the square of each error counts; `count` of them. */
  readonly weights: Float32Array;
}

/**
 * The elements from `offset` on in the block, weighed by importance: a large element counts for more than a small one of
 * the same importance, the less so the larger `variance`. Without importance, `otherwise` weighs each element.
 */
export function groupOf(
  { values, importance, from }: BlockSource,
  offset: number,
  weights: Float32Array,
  variance: number,
  otherwise: (value: number) => number,
): Group {
  const first = from + offset;
  for (let i = 0; i < weights.length; i++) {
    const value = values[first + i] as number;
    weights[i] = importance
      ? (importance[first + i] as number) * fround(Math.sqrt(fround(variance + fround(value * value))))
      : otherwise(value);
  }
  return { values, from: first, count: weights.length, weights };
}

/** The same elements, weighed by importance alone, or by their squares. */
export function groupByImportance(
  { values, importance, from }: BlockSource,
  offset: number,
  weights: Float32Array,
): Group {
  const first = from + offset;
  for (let i = 0; i < weights.length; i++) {
    weights[i] = importance ? (importance[first + i] as number) : squareOf(values[first + i] as number);
  }
  return { values, from: first, count: weights.length, weights };
}

/** The weight of a value by its square. */
export function squareOf(value: number): number {
  return fround(value * value);
}

/** The value of largest magnitude, with its sign; the first among equals. */
export function extremeOf(values: Float32Array, from: number, count: number): number {
  let extreme = 0;
  for (let i = from; i < from + count; i++) {
    const value = values[i] as number;
    if (Math.abs(value) > Math.abs(extreme)) extreme = value;
  }
  return extreme;
}

/** The nearest integer, of two equally near ones the even; for values below 2^22 in magnitude. */
export function nearest(value: number): number {
  return fround(fround(value + 12582912) - 12582912);
}

/** The nearest integer from `low` to `high`. */
export function nearestWithin(value: number, low: number, high: number): number {
  const integer = fround(fround(value + 12582912) - 12582912);
  return integer < low ? low : integer > high ? high : integer;
}

/** Sets the bytes of a block to zero. */
export function clear(bytes: DataView, at: number, count: number): void {
  new Uint8Array(bytes.buffer, bytes.byteOffset + at, count).fill(0);
}

/**
 * Codes 0 to `limit` of a block whose scale is its largest magnitude: an element's multiple of it, rounded half away from
 * zero, plus one.
 */
export function byMagnitude(
  { values, from }: BlockSource,
  count: number,
  limit: number,
): { readonly scale: number; readonly codes: Uint8Array } {
  const scale = Math.abs(extremeOf(values, from, count));
  const inverse = scale > 0 ? fround(1 / scale) : 0;
  const codes = new Uint8Array(count);
  for (let i = 0; i < count; i++) {
    const multiple = fround((values[from + i] as number) * inverse);
    const rounded = Math.sign(multiple) * Math.floor(Math.abs(multiple) + 0.5);
    codes[i] = Math.min(limit, Math.max(0, rounded + 1));
  }
  return { scale, codes };
}

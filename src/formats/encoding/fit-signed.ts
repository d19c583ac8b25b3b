import { extremeOf, type Group, nearest, nearestWithin } from './block-source.ts';

const { fround } = Math;

/** Groups below this magnitude are zeros. */
const TINY = fround(1e-15);

/** Inverse scales that are tried on either side of the one that the largest element asks for, and their distance. */
const CANDIDATES = 9;
const STEP = fround(0.1);

/** A scale of elements `scale * q`. */
export interface SignedFit {
  readonly scale: number;
  /** What the codes were rounded with: `q` is the nearest integer to `inverse * value`. */
  readonly inverse: number;
}

const ZERO: SignedFit = { scale: 0, inverse: 0 };

/**
 * The scale with which codes `-limit` to `limit - 1` come closest to a group, in weighted squares. The element of
 * largest magnitude gets the code `-limit`, or nearly. Sums are f32 in the order of ggml's `make_qx_quants`.
 */
export function fitSigned(group: Group, limit: number): SignedFit {
  const extreme = extremeOf(group.values, group.from, group.count);
  if (Math.abs(extreme) < TINY) return ZERO;
  const inverse = fround(-limit / extreme);
  const first = sumsOf(group, inverse, limit);
  let scale = first.squares === 0 ? 0 : fround(first.products / first.squares);
  let best = fround(scale * first.products);
  let bestInverse = inverse;
  for (let i = -CANDIDATES; i <= CANDIDATES; i++) {
    if (i === 0) continue;
    const candidate = fround(-fround(limit + fround(STEP * i)) / extreme);
    const { products, squares } = sumsOf(group, candidate, limit);
    if (!(squares > 0 && fround(products * products) > fround(best * squares))) continue;
    scale = fround(products / squares);
    best = fround(scale * products);
    bestInverse = candidate;
  }
  return { scale, inverse: bestInverse };
}

function sumsOf({ values, from, count, weights }: Group, inverse: number, limit: number) {
  let products = 0;
  let squares = 0;
  for (let i = 0; i < count; i++) {
    const value = values[from + i] as number;
    const weight = weights[i] as number;
    const code = nearestWithin(fround(inverse * value), -limit, limit - 1);
    products = fround(products + fround(fround(weight * value) * code));
    squares = fround(squares + fround(fround(weight * code) * code));
  }
  return { products, squares };
}

/** Codes of a group, and the sums that their scale follows from. */
interface Codes {
  readonly codes: Float64Array | Uint8Array;
  products: number;
  squares: number;
}

/** How often all codes are looked at again. */
const ROUNDS = 5;

/**
 * The scale of codes `-limit` to `limit - 1` that are improved one by one: each takes the value that is best with the
 * scale of the others. Sums are f32 in the order of ggml's `make_q3_quants`.
 */
export function refineSigned(group: Group, limit: number): number {
  const extreme = extremeOf(group.values, group.from, group.count);
  if (Math.abs(extreme) < TINY) return 0;
  const inverse = fround(-limit / extreme);
  const rounded: Codes = { codes: new Float64Array(group.count), products: 0, squares: 0 };
  for (let i = 0; i < group.count; i++) {
    const code = nearestWithin(fround(inverse * (group.values[group.from + i] as number)), -limit, limit - 1);
    rounded.codes[i] = code;
    add(rounded, group, i, code);
  }
  const improves = (products: number, squares: number) =>
    squares > 0 &&
    fround(fround(products * products) * rounded.squares) >
      fround(fround(rounded.products * rounded.products) * squares);
  const within = (value: number) => Math.max(-limit, Math.min(limit - 1, value));
  improveCodes(group, rounded, within, { improves, needsSquares: false });
  return rounded.squares > 0 ? fround(rounded.products / rounded.squares) : 0;
}

/** The inverse scales around that of the largest element, for positive numbers. */
const UNSIGNED_CANDIDATES = 4;

/**
 * A scale for numbers that are not negative, with their codes 0 to `limit`: the scales and mins of groups, stored in
 * units of it. Sums are f32 in the order of ggml's `make_qp_quants`. `inBytes` has codes in bytes, as ggml: that of a
 * negative number, -1, is 255 when it is read again.
 */
export function fitUnsigned(
  group: Group,
  limit: number,
  inBytes = false,
): { readonly scale: number; readonly codes: ArrayLike<number> } {
  const { values, count } = group;
  const codes = inBytes ? new Uint8Array(count) : new Float64Array(count);
  const rounded: Codes = { codes, products: 0, squares: 0 };
  let largest = 0;
  for (const value of values) largest = Math.max(largest, value);
  if (largest < TINY) return { scale: 0, codes };
  const inverse = bestUnsigned(group, limit, { largest, inBytes });
  for (let i = 0; i < count; i++) {
    const code = Math.min(limit, nearest(fround(inverse * (values[i] as number))));
    codes[i] = code;
    add(rounded, group, i, code);
  }
  const improves = (products: number, squares: number) =>
    fround(fround(products * products) * rounded.squares) >
    fround(fround(rounded.products * rounded.products) * squares);
  improveCodes(group, rounded, (value) => Math.min(limit, value), { improves, needsSquares: true });
  const scale = rounded.squares > 0 ? fround(rounded.products / rounded.squares) : 0;
  return { scale, codes };
}

function bestUnsigned(
  group: Group,
  limit: number,
  { largest, inBytes }: { readonly largest: number; readonly inBytes: boolean },
): number {
  let best = fround(limit / largest);
  let bestError = unsignedError(group, best, (code) => (inBytes ? code & 255 : code));
  for (let i = -UNSIGNED_CANDIDATES; i <= UNSIGNED_CANDIDATES; i++) {
    if (i === 0) continue;
    const inverse = fround(fround(fround(STEP * i) + limit) / largest);
    const error = unsignedError(group, inverse, (code) => Math.min(limit, code));
    if (error < bestError) {
      best = inverse;
      bestError = error;
    }
  }
  return best;
}

function unsignedError(
  { values, count, weights }: Group,
  inverse: number,
  within: (code: number) => number,
): number {
  const scale = fround(1 / inverse);
  let sum = 0;
  for (let i = 0; i < count; i++) {
    const value = values[i] as number;
    const code = within(nearest(fround(inverse * value)));
    const difference = fround(value - fround(scale * code));
    sum = fround(sum + fround(fround((weights[i] as number) * difference) * difference));
  }
  return sum;
}

function add(rounded: Codes, { values, from, weights }: Group, i: number, code: number): void {
  const weight = weights[i] as number;
  const product = fround(fround(weight * (values[from + i] as number)) * code);
  rounded.products = fround(rounded.products + product);
  rounded.squares = fround(rounded.squares + fround(fround(weight * code) * code));
}

function improveCodes(
  { values, from, count, weights }: Group,
  rounded: Codes,
  within: (code: number) => number,
  judge: {
    readonly improves: (products: number, squares: number) => boolean;
    /** Whether the squares of the other codes must not vanish. */
    readonly needsSquares: boolean;
  },
): void {
  for (let round = 0; round < ROUNDS; round++) {
    let changed = false;
    for (let i = 0; i < count; i++) {
      const weight = weights[i] as number;
      const value = values[from + i] as number;
      const weighted = fround(weight * value);
      const old = rounded.codes[i] as number;
      const products = fround(rounded.products - fround(weighted * old));
      const squares = fround(rounded.squares - fround(fround(weight * old) * old));
      if (!(products > 0 && (squares > 0 || !judge.needsSquares))) continue;
      const code = within(nearest(fround(fround(value * squares) / products)));
      if (code === old) continue;
      const newProducts = fround(products + fround(weighted * code));
      const newSquares = fround(squares + fround(fround(weight * code) * code));
      if (!judge.improves(newProducts, newSquares)) continue;
      rounded.codes[i] = code;
      rounded.products = newProducts;
      rounded.squares = newSquares;
      changed = true;
    }
    if (!changed) return;
  }
}

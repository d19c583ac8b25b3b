/**
 * Operators that reduce a row. Sums of squares and means run in f64, as ggml's do, over four lanes (value i goes to lane
 * i mod 4 while whole fours last) in the order of the row, then over the lanes, then over the rest.
 */
import { exp4, maxLanes, sumLanes } from './math';

@inline
function sumOf(x: usize, n: u32, center: f32, squared: bool): f64 {
  let a = f64x2.splat(0);
  let b = a;
  const c = f32x4.splat(center);
  let i: u32 = 0;
  for (; i + 4 <= n; i += 4) {
    const u = f32x4.sub(v128.load(x + (i << 2)), c);
    const v = squared ? f32x4.mul(u, u) : u;
    a = f64x2.add(a, f64x2.promote_low_f32x4(v));
    b = f64x2.add(b, f64x2.promote_low_f32x4(i8x16.shuffle(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7)));
  }
  a = f64x2.add(a, b);
  let sum = f64x2.extract_lane(a, 0) + f64x2.extract_lane(a, 1);
  for (; i < n; i++) {
    const u = load<f32>(x + (i << 2)) - center;
    sum += squared ? u * u : u;
  }
  return sum;
}

/** `out = x / sqrt(mean(x²) + epsilon) * weight` over `n` values; `weight` may be 0 for none. */
export function rmsNorm(x: usize, weight: usize, out: usize, n: u32, epsilon: f32): void {
  const factor: f32 = 1 / sqrt<f32>(<f32>(sumOf(x, n, 0, true) / n) + epsilon);
  normalize(x, weight, 0, out, n, 0, factor);
}

/** `out = (x - mean) / sqrt(variance + epsilon) * weight + bias` over `n` values; `weight` and `bias` may be 0. */
export function layerNorm(x: usize, weight: usize, bias: usize, out: usize, n: u32, epsilon: f32): void {
  const mean = <f32>(sumOf(x, n, 0, false) / n);
  const factor: f32 = 1 / sqrt<f32>(<f32>(sumOf(x, n, mean, true) / n) + epsilon);
  normalize(x, weight, bias, out, n, mean, factor);
}

@inline
function normalize(x: usize, weight: usize, bias: usize, out: usize, n: u32, mean: f32, factor: f32): void {
  let i: u32 = 0;
  for (; i + 4 <= n; i += 4) {
    let v = f32x4.mul(f32x4.sub(v128.load(x + (i << 2)), f32x4.splat(mean)), f32x4.splat(factor));
    if (weight) v = f32x4.mul(v, v128.load(weight + (i << 2)));
    if (bias) v = f32x4.add(v, v128.load(bias + (i << 2)));
    v128.store(out + (i << 2), v);
  }
  for (; i < n; i++) {
    let v = (load<f32>(x + (i << 2)) - mean) * factor;
    if (weight) v *= load<f32>(weight + (i << 2));
    if (bias) v += load<f32>(bias + (i << 2));
    store<f32>(out + (i << 2), v);
  }
}

/** The largest of `n` values; NaN if one is NaN, -infinity for none. */
@inline
function maxOf(x: usize, n: u32): f32 {
  let high: f32 = -Infinity;
  let i: u32 = 0;
  if (n >= 4) {
    let v = f32x4.splat(-Infinity);
    for (; i + 4 <= n; i += 4) v = f32x4.max(v, v128.load(x + (i << 2)));
    high = maxLanes(v);
  }
  for (; i < n; i++) high = max<f32>(high, load<f32>(x + (i << 2)));
  return high;
}

/** `out = e^(x - max) / sum` over `n` values. */
export function softmax(x: usize, out: usize, n: u32): void {
  const high = f32x4.splat(maxOf(x, n));
  let total = f32x4.splat(0);
  let i: u32 = 0;
  for (; i + 4 <= n; i += 4) {
    const e = exp4(f32x4.sub(v128.load(x + (i << 2)), high));
    total = f32x4.add(total, e);
    v128.store(out + (i << 2), e);
  }
  let sum = sumLanes(total);
  for (; i < n; i++) {
    const e = f32x4.extract_lane(exp4(f32x4.sub(v128.load32_splat(x + (i << 2)), high)), 0);
    sum += e;
    store<f32>(out + (i << 2), e);
  }
  const factor: f32 = 1 / sum;
  for (i = 0; i + 4 <= n; i += 4) {
    v128.store(out + (i << 2), f32x4.mul(v128.load(out + (i << 2)), f32x4.splat(factor)));
  }
  for (; i < n; i++) store<f32>(out + (i << 2), load<f32>(out + (i << 2)) * factor);
}

/**
 * The largest value of each block of `block` out of `n`, a multiple of 4 but in the end, to `out`; NaN for blocks that hold one. Gives
 * whether a value is NaN or infinite.
 */
export function blockMaxima(x: usize, n: u32, block: u32, out: usize): bool {
  const exponents = i32x4.splat(0x7f800000);
  let special = i32x4.splat(0);
  let first: u32 = 0;
  for (; first + block <= n; first += block) {
    let high = f32x4.splat(-Infinity);
    for (let i: u32 = 0; i < block; i += 4) {
      const v = v128.load(x + (i << 2));
      high = f32x4.max(high, v);
      special = v128.or(special, i32x4.eq(v128.and(v, exponents), exponents));
    }
    store<f32>(out, maxLanes(high));
    x += block << 2;
    out += 4;
  }
  if (first == n) return v128.any_true(special);
  let high: f32 = -Infinity;
  let isSpecial = v128.any_true(special);
  for (; first < n; first++) {
    const value = load<f32>(x);
    high = max<f32>(high, value);
    isSpecial = isSpecial || !(abs<f32>(value) < Infinity);
    x += 4;
  }
  store<f32>(out, high);
  return isSpecial;
}

/** `out += x`, for products whose weight has a bias: the same vector to each of `rows` rows of `n` values. */
export function addToRows(x: usize, out: usize, rows: u32, n: u32): void {
  for (let r: u32 = 0; r < rows; r++) {
    let i: u32 = 0;
    for (; i + 4 <= n; i += 4) {
      v128.store(out + (i << 2), f32x4.add(v128.load(out + (i << 2)), v128.load(x + (i << 2))));
    }
    for (; i < n; i++) store<f32>(out + (i << 2), load<f32>(out + (i << 2)) + load<f32>(x + (i << 2)));
    out += n << 2;
  }
}

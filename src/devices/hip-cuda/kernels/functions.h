// Elementary functions, accurate to a few ULP everywhere: no vendor's library has to be linked.
#pragma once
#include "prelude.h"

/// From `a` towards `b`.
DEVICE f32 lerp(f32 a, f32 b, f32 t) { return a + (b - a) * t; }

/// 2^n as a factor; n from -252 to 254, in two steps so that it neither overflows nor underflows too early.
DEVICE f32 scale_by_power(f32 x, i32 n) {
  i32 half = n >> 1;
  return x * bit_cast<f32>(u32(half + 127) << 23) * bit_cast<f32>(u32(n - half + 127) << 23);
}

/// e^x. The exponent's whole part is split off first, so that the hardware's 2^x only sees a fraction.
DEVICE f32 exponential(f32 x) {
  if (!(x > -104.0f)) return x != x ? x : 0.0f;
  if (x > 89.0f) return bit_cast<f32>(0x7f800000u);
  f32 n = round_even(x * 1.44269504f);
  f32 rest = fused_multiply_add(n, -0.693359375f, x);
  rest = fused_multiply_add(n, 2.12194440e-4f, rest);
  return scale_by_power(hardware_exp2(rest * 1.44269504f), i32(n));
}

/// e^x for the weights of a softmax, x at most 0: the error grows with how little a weight is.
DEVICE f32 softmax_weight(f32 x) { return hardware_exp2(x * 1.44269504f); }

/// e^x - 1 without cancellation near zero.
DEVICE f32 exponential_less_one(f32 x) {
  if (x > 0.35f || x < -0.35f) return exponential(x) - 1.0f;
  f32 sum = 1.0f / 5040;
  sum = fused_multiply_add(sum, x, 1.0f / 720);
  sum = fused_multiply_add(sum, x, 1.0f / 120);
  sum = fused_multiply_add(sum, x, 1.0f / 24);
  sum = fused_multiply_add(sum, x, 1.0f / 6);
  sum = fused_multiply_add(sum, x, 0.5f);
  return fused_multiply_add(sum * x, x, x);
}

/// ln x for x > 0 in f64, by the series of 2 artanh((m - 1) / (m + 1)) with m near 1.
DEVICE f64 logarithm(f64 x) {
  if (x == 0) return bit_cast<f64>(0xfff0000000000000ull);
  if (!(x > 0) || x > 1.7e308) return x;
  u64 bits = bit_cast<u64>(x);
  i32 exponent = i32(bits >> 52) - 1023;
  f64 m = bit_cast<f64>((bits & 0x000fffffffffffffull) | 0x3ff0000000000000ull);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    exponent++;
  }
  f64 t = (m - 1) / (m + 1), square = t * t, sum = 0;
  UNROLL for (i32 n = 17; n >= 1; n -= 2) sum = fused_multiply_add(sum, square, 1.0 / n);
  return fused_multiply_add(f64(exponent), 0.6931471805599453, 2 * t * sum);
}

/// ln(1 + x) for x in [0, 1].
DEVICE f32 logarithm_of_one_plus(f32 x) {
  f32 t = x / (2.0f + x), square = t * t, sum = 0;
  UNROLL for (i32 n = 13; n >= 1; n -= 2) sum = fused_multiply_add(sum, square, 1.0f / n);
  return 2.0f * t * sum;
}

DEVICE f32 hyperbolic_tangent(f32 x) {
  f32 size = x < 0 ? -x : x;
  if (size > 10.0f) return x < 0 ? -1.0f : 1.0f;
  f32 grown = exponential_less_one(2.0f * size);
  f32 tangent = grown / (grown + 2.0f);
  return x < 0 ? -tangent : tangent;
}

DEVICE f64 exponential_f64(f64 x) {
  f64 n = round_even(x * 1.4426950408889634), rest = fused_multiply_add(n, -0.6931471805599453, x), sum = 1;
  UNROLL for (i32 k = 13; k >= 1; k--) sum = fused_multiply_add(sum * rest, 1.0 / k, 1.0);
  i32 power = i32(n) + 1023;
  return power <= 0 ? 0 : sum * bit_cast<f64>(u64(power) << 52);
}
/// The error function by its series, in f64.
DEVICE f32 error_function(f32 value) {
  f64 x = value < 0 ? -f64(value) : f64(value);
  if (!(x < 6)) return x != x ? value : value < 0 ? -1.0f : 1.0f;
  f64 term = x, sum = x;
  for (i32 n = 1; n < 150 && term > 1e-12 * sum; n++) {
    term *= 2 * x * x / (2 * n + 1);
    sum += term;
  }
  f64 result = 1.1283791670955126 * exponential_f64(-x * x) * sum;
  return f32(value < 0 ? -result : result);
}

/// Cosine and sine of large angles (far positions): quarter turns are taken off in f64.
DEVICE void cosine_and_sine(f32 angle, f32& cosine, f32& sine) {
  f64 turns = round_even(f64(angle) * 0.6366197723675814);
  f64 rest = fused_multiply_add(turns, -1.5707963267948966, f64(angle));
  rest = fused_multiply_add(turns, -6.123233995736766e-17, rest);
  f64 square = rest * rest, s = 0, c = 0;
  UNROLL for (i32 n = 13; n >= 3; n -= 2) s = (s + 1) * square * (-1.0 / (n * (n - 1)));
  UNROLL for (i32 n = 14; n >= 2; n -= 2) c = (c + 1) * square * (-1.0 / (n * (n - 1)));
  s = rest + rest * s;
  c = 1 + c;
  i32 quarter = i32(i64(turns) & 3);
  f64 across = quarter & 1 ? s : c, up = quarter & 1 ? c : s;
  cosine = f32(quarter == 1 || quarter == 2 ? -across : across);
  sine = f32(quarter >= 2 ? -up : up);
}

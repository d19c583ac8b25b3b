// Rows of f32 as two matrices of f16 each, so that f16 products on the matrix cores are as exact as in f32: a row is
// scaled by a power of two to at most 1, `high` is its f16 rounding, `low` the remainder, LOW_SCALE times larger. A block a row.
// With BFLOATS they are bf16, whose sixteen bits together are two thirds of what an f32 has.
#include "reduce.h"

#define THREADS 256
constexpr f32 LOW_SCALE = 2048.0f;

#if BFLOATS
DEVICE f32 widened(u16 value) { return bit_cast<f32>(u32(value) << 16); }
/// To the nearest, the even one of two; numbers that are not finite are unlikely here, and stay so.
DEVICE u16 narrowed(f32 value) {
  u32 bits = bit_cast<u32>(value);
  return u16((bits & 0x7f800000u) == 0x7f800000u ? bits >> 16 | (bits & 0xffffu ? 1u : 0u) : (bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}
#else
DEVICE f32 widened(u16 value) { return half_to_float(value); }
DEVICE u16 narrowed(f32 value) { return float_to_half(value); }
#endif

/// The power of two above a number; 1 for zero and NaN.
DEVICE f32 power_above(f32 value) {
  u32 exponent = bit_cast<u32>(value) >> 23;
  return exponent == 0 || exponent >= 253 ? 1.0f : bit_cast<f32>((exponent + 1) << 23);
}

KERNEL(split_halves, THREADS, const i32* count, const f32* x, u16* high, u16* low, f32* scales, i32 width) {
  SHARED f32 largest[THREADS / 32];
  grid_launch_dependents();
  grid_dependency_wait();
  i32 row = block_x();
  if (row >= *count) return;
  const f32* from = x + i64(row) * width;
  f32 own = 0;
  for (i32 i = thread(); i < width; i += THREADS) own = max_of(own, from[i] < 0 ? -from[i] : from[i]);
  own = warp_max(own);
  if (lane() == 0) largest[thread() >> 5] = own;
  barrier();
  UNROLL for (i32 warp = 0; warp < THREADS / 32; warp++) own = max_of(own, largest[warp]);
  f32 scale = power_above(own), inverse = 1.0f / scale;
  if (thread() == 0) scales[row] = scale;
  for (i32 i = thread(); i < width; i += THREADS) {
    f32 value = from[i] * inverse;
    u16 upper = narrowed(value);
    high[i64(row) * width + i] = upper;
    low[i64(row) * width + i] = narrowed((value - widened(upper)) * LOW_SCALE);
  }
}

/// Adds the two products of a row.
KERNEL(join_products, THREADS, const i32* count, const f32* high, const f32* low, const f32* scales, const f32* bias, f32* y,
       i32 width) {
  grid_launch_dependents();
  grid_dependency_wait();
  i32 row = block_y(), n = block_x() * THREADS + thread();
  if (row >= *count || n >= width) return;
  i64 at = i64(row) * width + n;
  f32 sum = fused_multiply_add(low[at], 1.0f / LOW_SCALE, high[at]) * scales[row];
  y[at] = bias ? sum + bias[n] : sum;
}

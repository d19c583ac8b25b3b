// Rows of f32 as two matrices of f16 each, so that f16 products on the matrix cores are as exact as in f32: a row is
// scaled by a power of two to at most 1, `high` is its f16 rounding, `low` the remainder, LOW_SCALE times larger. A block a row.
// With BFLOATS they are bf16, whose sixteen bits together are two thirds of what an f32 has. With NORMED, rows are RMS-normed first. A thread
// has OWN vectors of a row.
#include "narrow.h"
#include "row-vectors.h"

constexpr f32 LOW_SCALE = 2048.0f;

/// The power of two above a number; 1 for zero and NaN.
DEVICE f32 power_above(f32 value) {
  u32 exponent = bit_cast<u32>(value) >> 23;
  return exponent == 0 || exponent >= 253 ? 1.0f : bit_cast<f32>((exponent + 1) << 23);
}

KERNEL(split_halves, THREADS, const i32* count, const f32* x, const f32* weight, u16* high, u16* low, f32* scales, i32 width,
       f32 epsilon) {
  SHARED f32 sums[THREADS / 32];
  SHARED f32 largest[THREADS / 32];
  RowVectors row;
  row.load_weight(weight, width);
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  i32 index = block_x();
  if (index >= used) return;
  row.load(x + i64(index) * width, width);
  row.norm(sums, width, epsilon);
  f32 own = 0;
  UNROLL for (i32 k = 0; k < OWN; k++) {
    f32x4 v = row.at(k);
    f32 four[4] = {v.x, v.y, v.z, v.w};
    UNROLL for (i32 e = 0; e < 4; e++) own = max_of(own, four[e] < 0 ? -four[e] : four[e]);
  }
  own = warp_max(own);
  if (lane() == 0) largest[thread() >> 5] = own;
  barrier();
  UNROLL for (i32 warp = 0; warp < THREADS / 32; warp++) own = max_of(own, largest[warp]);
  f32 scale = power_above(own), inverse = 1.0f / scale;
  if (thread() == 0) scales[index] = scale;
  UNROLL for (i32 k = 0; k < OWN; k++) {
    i32 i = RowVectors::place(k);
    if (i >= width) continue;
    f32x4 v = row.at(k);
    f32 four[4] = {v.x * inverse, v.y * inverse, v.z * inverse, v.w * inverse};
    u16 upper[4], rest[4];
    UNROLL for (i32 e = 0; e < 4; e++) {
      upper[e] = narrowed(four[e]);
      rest[e] = narrowed((four[e] - widened(upper[e])) * LOW_SCALE);
    }
    i64 at = i64(index) * width + i;
    *reinterpret_cast<u32x2*>(high + at) = {upper[0] | u32(upper[1]) << 16, upper[2] | u32(upper[3]) << 16};
    *reinterpret_cast<u32x2*>(low + at) = {rest[0] | u32(rest[1]) << 16, rest[2] | u32(rest[3]) << 16};
  }
}

// Rows of f32 as f16 for the matrix cores, RMS-normed on the way where NORMED: a block a row, or a part of one that is padded on
// its own.
#include "halves.h"
#include "reduce.h"

#define THREADS 256

KERNEL(convert_f16, THREADS, const i32* count, const f32* x, const f32* weight, u16* out, i32 width, i32 parts,
       f32 epsilon) {
  grid_launch_dependents();
  grid_dependency_wait();
  i32 row = block_x();
  if (row >= *count * parts) return;
  const f32* from = x + i64(row) * width;
#if NORMED
  SHARED f32 sums[THREADS / 32];
  f32 square = 0;
  for (i32 i = thread(); i < width; i += THREADS) square += from[i] * from[i];
  f32 rms = square_root(block_sum<THREADS / 32>(square, sums) / f32(width) + epsilon);
#endif
  u16* to = out + i64(row) * padded_width(width);
  for (i32 i = 4 * thread(); i < padded_width(width); i += 4 * THREADS) {
    f32x4 v = {};
    if (i < width) {
      v = *reinterpret_cast<const f32x4*>(from + i);
#if NORMED
      f32x4 w = *reinterpret_cast<const f32x4*>(weight + i);
      v = {v.x / rms * w.x, v.y / rms * w.y, v.z / rms * w.z, v.w / rms * w.w};
#endif
    }
    u32x2 halves = {pack_half2(clamp_half(v.x), clamp_half(v.y)), pack_half2(clamp_half(v.z), clamp_half(v.w))};
    *reinterpret_cast<u32x2*>(to + half_index(i)) = halves;
  }
}

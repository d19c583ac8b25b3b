// The Walsh-Hadamard transform of groups of SIZE values; a thread has one value of a row.
#include "prelude.h"

KERNEL(hadamard, 128, const i32* count, const f32* x, f32* out, i32 width, f32 scale) {
  SHARED f32 values[128];
  i32 used_rows = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  if (i32(block_x()) >= used_rows) return;
  i32 own = thread(), column = i32(block_y()) * 128 + own;
  bool used = column < width;
  i64 at = i64(block_x()) * width + column;
  values[own] = used ? x[at] * scale : 0.0f;
  UNROLL for (i32 apart = 1; apart < SIZE; apart <<= 1) {
    barrier();
    f32 mine = values[own], other = values[own ^ apart];
    barrier();
    values[own] = own & apart ? other - mine : mine + other;
  }
  if (used) out[at] = values[own];
}

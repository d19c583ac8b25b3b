// RWKV's operators beside its recurrence.
#include "reduce.h"

/// Row after row: `out[r] = last[slots[r]]`, zero at position 0, then `last[slots[r]] = x[r]`. A thread takes a column of all
/// rows.
KERNEL(token_shift, 256, const i32* count, const i32* slots, const i32* positions, const f32* x, f32* last, f32* out,
                        i32 width) {
  grid_dependency_wait();
  i32 i = block_x() * 256 + thread();
  if (i >= width) return;
  i32 rows = *count;
  for (i32 row = 0; row < rows; row++) {
    f32* kept = last + i64(slots[row]) * width + i;
    out[i64(row) * width + i] = positions[row] == 0 ? 0.0f : *kept;
    *kept = x[i64(row) * width + i];
  }
}

/// `out = a + (b - a) * t`; `weight_row` of `t` for all rows, or the rows' own where it is negative.
KERNEL(lerp_rows, 256, const i32* count, const f32* a, const f32* b, const f32* t, f32* out, i32 width, i32 weight_row) {
  grid_dependency_wait();
  i64 i = i64(block_x()) * 256 + thread();
  if (i >= i64(*count) * width) return;
  f32 weight = weight_row < 0 ? t[i] : t[i64(weight_row) * width + i % width];
  out[i] = a[i] + (b[i] - a[i]) * weight;
}

/// `out[i] = v[i] * sum_j r[j] k[j] weight[j]`, a block a row and head.
KERNEL(wkv_bonus, 256, const i32* count, const f32* r, const f32* k, const f32* v, const f32* weight, f32* out, i32 width,
                      i32 size) {
  SHARED f32 sums[8];
  grid_dependency_wait();
  if (i32(block_x()) >= *count) return;
  i32 head = i32(block_y()) * size;
  i64 start = i64(block_x()) * width + head;
  f32 sum = 0;
  for (i32 i = thread(); i < size; i += 256) sum += r[start + i] * k[start + i] * weight[head + i];
  sum = block_sum<8>(sum, sums);
  for (i32 i = thread(); i < size; i += 256) out[start + i] = v[start + i] * sum;
}

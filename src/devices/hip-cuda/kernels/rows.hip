#include "prelude.h"

/// `out[o] = x[index[o]]`, a block an output row.
KERNEL(gather_rows, 256, const i32* count, const i32* index, const f32* x, f32* out, i32 width) {
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  i32 row = block_x();
  if (row >= used) return;
  const f32* from = x + i64(index[row]) * width;
  for (i32 i = thread(); i < width; i += 256) out[i64(row) * width + i] = from[i];
}

/// `out[r, i] = x[r, first + i / part * every + i % part]`; the blocks of a row share its values.
KERNEL(slice_rows, 256, const i32* count, const f32* x, f32* out, i32 source_width, i32 first, i32 width, i32 part,
                        i32 every) {
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  i32 row = block_x(), i = block_y() * 256 + thread();
  if (row >= used || i >= width) return;
  out[i64(row) * width + i] = x[i64(row) * source_width + first + i / part * every + i % part];
}

/// Parts of `a_part` values of a row of `a`, each with one of `b_part` of `b`'s row behind it, which may have one for all; the
/// blocks of a row share its values.
KERNEL(concat_rows, 256, const i32* count, const f32* a, const f32* b, f32* out, i32 a_width, i32 b_width, i32 a_part,
                         i32 b_part) {
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  i32 whole = a_part + b_part, width = a_width / a_part * whole;
  i32 row = block_x(), i = block_y() * 256 + thread();
  if (row >= used || i >= width) return;
  i32 part = i / whole, column = i % whole;
  out[i64(row) * width + i] = column < a_part ? a[i64(row) * a_width + part * a_part + column]
                                              : b[i64(row) * b_width + (part * b_part + column - a_part) % b_width];
}

/// `out[r] = ids[r]`, or `tokens[-1 - ids[r]]` for one below zero; then `history[slots[r], positions[r]] = out[r]`.
KERNEL(token_append, 256, const i32* count, const i32* ids, const i32* slots, const i32* positions, const i32* tokens,
                         i32 token_count, i32* history, i32 width, i32* out) {
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  i32 row = block_x() * 256 + thread();
  if (row >= used) return;
  i32 id = ids[row];
  if (id < 0) {
    i32 index = -1 - id;
    id = index < token_count ? tokens[index] : -1;
  }
  out[row] = id;
  history[i64(slots[row]) * width + positions[row]] = id;
}

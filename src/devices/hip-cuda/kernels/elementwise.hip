// Operators that compute each element from the elements at its place: a grid-wide walk over rows * width elements.
#include "activation.h"

#define ELEMENTS_PER_BLOCK 256

/// `out = a + b` or `a * b`; `b_width` is `width` for a second tensor or a vector of the row's width (`b_rows` 0), or 1. A
/// narrower second tensor or vector multiplies equal parts of rows.
KERNEL(add_rows, ELEMENTS_PER_BLOCK, const i32* count, const f32* a, const f32* b, f32* out, i32 width, i32 b_rows, i32 b_width) {
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  i64 at = i64(block_x()) * ELEMENTS_PER_BLOCK + thread();
  if (at >= i64(used) * width) return;
  out[at] = a[at] + b[b_rows ? at : b_width == 1 ? 0 : at % width];
}
KERNEL(mul_rows, ELEMENTS_PER_BLOCK, const i32* count, const f32* a, const f32* b, f32* out, i32 width, i32 b_rows, i32 b_width) {
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  i64 at = i64(block_x()) * ELEMENTS_PER_BLOCK + thread();
  if (at >= i64(used) * width) return;
  i64 of = b_rows ? at : at % width;
  out[at] = a[at] * b[b_width == width ? of : of / (width / b_width)];
}
KERNEL(scale_rows, ELEMENTS_PER_BLOCK, const i32* count, const f32* x, f32* out, i32 width, f32 factor) {
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  i64 at = i64(block_x()) * ELEMENTS_PER_BLOCK + thread();
  if (at < i64(used) * width) out[at] = factor * x[at];
}
/// `out = min(max(x, low), high)`.
KERNEL(clamp_rows, ELEMENTS_PER_BLOCK, const i32* count, const f32* x, f32* out, i32 width, f32 low, f32 high) {
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  i64 at = i64(block_x()) * ELEMENTS_PER_BLOCK + thread();
  if (at < i64(used) * width) out[at] = min_of(max_of(x[at], low), high);
}

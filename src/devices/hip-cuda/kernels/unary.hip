#include "activation.h"

/// `out = fn(x)`.
KERNEL(unary_rows, 256, const i32* count, const f32* x, f32* out, i32 width) {
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  i64 at = i64(block_x()) * 256 + thread();
  if (at < i64(used) * width) out[at] = activation(x[at]);
}
/// `out = fn(gate) * up`.
KERNEL(gated_rows, 256, const i32* count, const f32* gate, const f32* up, f32* out, i32 width) {
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  i64 at = i64(block_x()) * 256 + thread();
  if (at < i64(used) * width) out[at] = gated(gate[at], up[at]);
}

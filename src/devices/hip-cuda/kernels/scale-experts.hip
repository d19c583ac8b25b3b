// A row's expert outputs, each times its expert's scale.
#include "prelude.h"

KERNEL(scale_experts, 256, const i32* count, const f32* x, const i32* experts, const f32* scales, f32* out, i32 width,
       i32 top_k, i32 expert_count) {
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  i32 row = block_y(), n = block_x() * 256 + thread();
  if (row >= used || n >= width * top_k) return;
  i32 expert = experts[i64(row) * top_k + n / width];
  bool known = expert >= 0 && expert < expert_count;
  i64 at = i64(row) * width * top_k + n;
  out[at] = known ? x[at] * scales[expert] : 0.0f;
}

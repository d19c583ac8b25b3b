// A row's expert outputs, each times its expert's scale.
#include "prelude.h"

KERNEL(scale_experts, 256, const i32* count, const f32* x, const i32* experts, const f32* scales, f32* out, i32 width,
       i32 a_row, i32 expert_count) {
  release_successor();
  await_inputs();
  i32 row = block_y(), n = block_x() * 256 + thread();
  if (row >= *count || n >= width * a_row) return;
  i32 expert = experts[i64(row) * a_row + n / width];
  bool known = expert >= 0 && expert < expert_count;
  i64 at = i64(row) * width * a_row + n;
  out[at] = known ? x[at] * scales[expert] : 0.0f;
}

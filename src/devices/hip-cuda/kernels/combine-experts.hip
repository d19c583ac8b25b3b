// The sum of a row's expert outputs by its routing weights, plus another tensor where there is one.
#include "prelude.h"

KERNEL(combine_experts, 256, const i32* count, const f32* x, const f32* routing_weights, const f32* addend, f32* out, i32 width,
       i32 top_k) {
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  i32 row = block_y(), n = block_x() * 256 + thread();
  if (row >= used || n >= width) return;
  f32 sum = 0;
  for (i32 j = 0; j < top_k; j++) {
    i64 choice = i64(row) * top_k + j;
    sum = fused_multiply_add(routing_weights[choice], x[choice * width + n], sum);
  }
  i64 at = i64(row) * width + n;
  out[at] = addend ? sum + addend[at] : sum;
}

// The results of a row's choices, added up by their shares, and another tensor where there is one.
#include "prelude.h"

KERNEL(combine_experts, 256, const i32* count, const f32* x, const f32* shares, const f32* addend, f32* out, i32 width,
       i32 a_row) {
  release_successor();
  await_inputs();
  i32 row = block_y(), n = block_x() * 256 + thread();
  if (row >= *count || n >= width) return;
  f32 sum = 0;
  for (i32 j = 0; j < a_row; j++) {
    i64 choice = i64(row) * a_row + j;
    sum = fused_multiply_add(shares[choice], x[choice * width + n], sum);
  }
  i64 at = i64(row) * width + n;
  out[at] = addend ? sum + addend[at] : sum;
}

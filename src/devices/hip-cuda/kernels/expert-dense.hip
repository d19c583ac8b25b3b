// Products of f32 activations with the weights of the experts that rows chose, as the file holds them: a warp an output of a
// choice, a row with one of its experts, plus the expert's bias where there is one.
#include "file-rows.h"
#include "hot-experts.h"
#include "reduce.h"

/// `x` has `x_per_row` rows for each row of the batch: one, or one for each of its `top_k` choices.
KERNEL(expert_dense, 128, const i32* count, const f32* x, const u8* weight, HOT_PARAMETERS const f32* bias, const i32* expert_ids,
       f32* y, i32 expert_count, i32 columns, i32 outputs, i32 top_k, i32 x_per_row) {
  constexpr i32 STEP = FileFormat::STEP;
  grid_dependency_wait();
  i32 n = block_x() * 4 + (thread() >> 5), choice = block_y();
  if (n >= outputs || choice >= *count * top_k) return;
  i32 expert = min_of(max_of(expert_ids[choice], 0), expert_count - 1);
  i64 line = i64(expert) * outputs + n;
#ifdef HOT
  const u8* stored = matrix_of(expert, weight, slots, copies, pages) + n * file_row_bytes(columns);
#else
  const u8* stored = weight + line * file_row_bytes(columns);
#endif
  const f32* from = x + i64(x_per_row == 1 ? choice / top_k : choice) * columns;
  f32 sum = 0;
  for (i32 step = lane(); step < columns / STEP; step += 32) {
    f32 values[STEP];
    decode_step(stored, step, values);
    UNROLL for (i32 i = 0; i < STEP; i++) sum = fused_multiply_add(from[step * STEP + i], values[i], sum);
  }
  sum = warp_sum(sum);
  if (lane() == 0) y[i64(choice) * outputs + n] = bias ? sum + bias[line] : sum;
}

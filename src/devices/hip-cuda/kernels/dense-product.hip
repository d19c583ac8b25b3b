// Matrix products of f32 activations with weights as the file holds them: a warp an output, up to ROWS rows at a time, sums
// in f32. For plain numbers that have no faster way.
#include "file-rows.h"
#include "reduce.h"

/// `y[r, n] = x[r, n / part_outputs] · row n (+ bias[n])`, rows of `x` being parts of `columns` values; block y takes rows from ROWS * y on.
KERNEL(dense_product, 128, const i32* count, const f32* x, const u8* weight, const f32* bias, f32* y, i32 columns, i32 outputs,
       i32 part_outputs) {
  constexpr i32 STEP = FileFormat::STEP;
  grid_dependency_wait();
  i32 n = block_x() * 4 + (thread() >> 5), first = block_y() * ROWS, rows = *count - first;
  if (n >= outputs || rows <= 0) return;
  const u8* stored = weight + n * file_row_bytes(columns);
  i64 width = i64(outputs / part_outputs) * columns;
  const f32* part = x + i64(n / part_outputs) * columns;
  f32 sums[ROWS] = {};
  for (i32 step = lane(); step < columns / STEP; step += 32) {
    f32 values[STEP];
    decode_step(stored, step, values);
    UNROLL for (i32 r = 0; r < ROWS; r++) {
      if (r < rows) {
        const f32* from = part + (first + r) * width + step * STEP;
        UNROLL for (i32 i = 0; i < STEP; i++) sums[r] = fused_multiply_add(from[i], values[i], sums[r]);
      }
    }
  }
  UNROLL for (i32 r = 0; r < ROWS; r++) {
    f32 sum = warp_sum(sums[r]);
    if (lane() == 0 && r < rows) y[i64(first + r) * outputs + n] = bias ? sum + bias[n] : sum;
  }
}

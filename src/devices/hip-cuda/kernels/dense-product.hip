// Matrix products of f32 activations with weights as the file holds them: a warp LINES outputs, up to ROWS rows at a time, sums
// in f32. For plain numbers that have no faster way.
#include "file-rows.h"
#include "reduce.h"

constexpr i32 STEP = FileFormat::STEP;
/// Steps that a lane loads before it multiplies, so that memory is not waited for after each.
constexpr i32 DEPTH = 8 / STEP / LINES > 1 ? 8 / STEP / LINES : 1;

/// Adds the products of so many steps, 32 apart, from `first` on.
template <i32 STEPS>
DEVICE void add_steps(f32 (*sums)[LINES], const f32* const* from, const u8* const* stored, i32 first) {
  f32 weights[STEPS][LINES][STEP], values[STEPS][ROWS][STEP];
  UNROLL for (i32 s = 0; s < STEPS; s++) {
    i32 step = first + 32 * s;
    UNROLL for (i32 l = 0; l < LINES; l++) decode_step(stored[l], step, weights[s][l]);
    UNROLL for (i32 r = 0; r < ROWS; r++) {
      UNROLL for (i32 i = 0; i < STEP; i++) values[s][r][i] = from[r][step * STEP + i];
    }
  }
  UNROLL for (i32 s = 0; s < STEPS; s++) {
    UNROLL for (i32 r = 0; r < ROWS; r++) {
      UNROLL for (i32 l = 0; l < LINES; l++) {
        UNROLL for (i32 i = 0; i < STEP; i++) sums[r][l] = fused_multiply_add(values[s][r][i], weights[s][l][i], sums[r][l]);
      }
    }
  }
}

/// `y[r, n] = x[r, n / part_outputs] · row n (+ bias[n])`, rows of `x` being parts of `columns` values; block y takes rows from ROWS * y on.
/// A warp's outputs read one part.
KERNEL(dense_product, 128, const i32* count, const f32* x, const u8* weight, const f32* bias, f32* y, i32 columns, i32 outputs,
       i32 part_outputs) {
  grid_dependency_wait();
  i32 n = (block_x() * 4 + (thread() >> 5)) * LINES, first = block_y() * ROWS, rows = *count - first;
  if (n >= outputs || rows <= 0) return;
  i64 width = i64(outputs / part_outputs) * columns;
  const u8* stored[LINES];
  UNROLL for (i32 l = 0; l < LINES; l++) stored[l] = weight + min_of(n + l, outputs - 1) * file_row_bytes(columns);
  const f32* from[ROWS];
  // Rows that are not in use repeat the last: their sums are unused.
  UNROLL for (i32 r = 0; r < ROWS; r++) from[r] = x + i64(n / part_outputs) * columns + (first + min_of(r, rows - 1)) * width;
  f32 sums[ROWS][LINES] = {};
  i32 step = lane(), steps = columns / STEP;
  for (; step + 32 * (DEPTH - 1) < steps; step += 32 * DEPTH) add_steps<DEPTH>(sums, from, stored, step);
  for (; step < steps; step += 32) add_steps<1>(sums, from, stored, step);
  UNROLL for (i32 r = 0; r < ROWS; r++) {
    UNROLL for (i32 l = 0; l < LINES; l++) {
      f32 sum = warp_sum(sums[r][l]);
      if (lane() == 0 && r < rows && n + l < outputs) y[i64(first + r) * outputs + n + l] = bias ? sum + bias[n + l] : sum;
    }
  }
}

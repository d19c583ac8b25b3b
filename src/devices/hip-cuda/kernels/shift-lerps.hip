// Token shift: lerps of a row towards the sequence's row before it. A block takes 256 columns of ROWS rows; what a sequence's last row
// leaves behind is stored by the block of its first row, which is the one that reads what was left there before.
//
//   NORMED      rows are normalized by mean and variance first
//   PARAMETERS  a vector of weights and a result for each lerp
//   STORES      stores each lerp from `values[q]` to `before[q]` for column `i`, at `at`, some rounded to f16 or, with BFLOATS, bf16
#define ROUNDED 1
#include "functions.h"
#include "reduce.h"
#include "results.h"

#if NORMED
struct Moments {
  f32 mean, deviation;
};

NOINLINE Moments moments(const f32* row, i32 width, f32 epsilon, f32* sums, f32* squares) {
  f32 sum = 0, square = 0;
  for (i32 c = thread(); c < width; c += 256) sum += row[c];
  f32 mean = block_sum<8>(sum, sums) / f32(width);
  for (i32 c = thread(); c < width; c += 256) square += (row[c] - mean) * (row[c] - mean);
  f32 deviation = square_root(block_sum<8>(square, squares) / f32(width) + epsilon);
  barrier();
  return {mean, deviation};
}
#endif

/// Where a column of rows comes from.
struct Source {
  const f32* x;
  i32 width, column;
#if NORMED
  f32 weight, bias, epsilon, *sums, *squares;
#endif

  /// The column of a row; if rows are normalized, all threads of a block have to ask for it.
  DEVICE_MEMBER f32 of(i32 row) const {
    const f32* values = x + i64(row) * width;
#if NORMED
    Moments of_row = moments(values, width, epsilon, sums, squares);
    return (values[column] - of_row.mean) / of_row.deviation * weight + bias;
#else
    return values[column];
#endif
  }
};

/// The last row of a slot before `row`, which is not its first one: rows of several may be interleaved.
DEVICE i32 row_before(i32 row, const i32* slots) {
  i32 slot = slots[row], before = row - 1;
  while (slots[before] != slot) before--;
  return before;
}

KERNEL(shift_lerps, 256, const i32* count, const i32* slots, const i32* slot_rows, const i32* positions, const f32* x,
       const f32* norm_weight, const f32* norm_bias, f32 epsilon, f32* last, i32 width PARAMETERS) {
#if NORMED
  SHARED f32 sums[8];
  SHARED f32 squares[8];
#endif
  grid_launch_dependents();
  grid_dependency_wait();
  i32 rows = *count, first = i32(block_y()) * ROWS, i = i32(block_x()) * 256 + i32(thread());
  if (first >= rows) return;
  bool inside = i < width;
  i32 column = inside ? i : 0;
#if NORMED
  Source source = {x, width, column, norm_weight[column], norm_bias[column], epsilon, sums, squares};
#else
  Source source = {x, width, column};
#endif
  // Everything is loaded before anything is stored: stores could be to the same memory, for all that the compiler knows.
  i32 own[ROWS], starts[ROWS], ends[ROWS];
  f32 values[ROWS], before[ROWS], left[ROWS];
  UNROLL for (i32 q = 0; q < ROWS; q++) own[q] = slots[min_of(first + q, rows - 1)];
  UNROLL for (i32 q = 0; q < ROWS; q++) starts[q] = slot_rows[2 * own[q]], ends[q] = slot_rows[2 * own[q] + 1];
  UNROLL for (i32 q = 0; q < ROWS; q++) {
    i32 row = min_of(first + q, rows - 1);
    bool begins = row == starts[q];
    values[q] = source.of(row);
    left[q] = begins && ends[q] - 1 != row ? source.of(ends[q] - 1) : values[q];
    if (positions[row] == 0) before[q] = 0;
    else if (begins) before[q] = last[i64(own[q]) * width + column];
    else before[q] = source.of(row_before(row, slots));
  }
  if (!inside) return;
  UNROLL for (i32 q = 0; q < ROWS; q++) {
    i32 row = first + q;
    if (row >= rows) return;
    if (row == starts[q]) last[i64(own[q]) * width + i] = left[q];
    i64 at = i64(row) * width + i;
    STORES
  }
}

// Token shift: lerps of a row towards the sequence's row before it. A block takes 256 columns of ROWS rows; what a sequence's last row
// leaves behind is stored by the block of its first row, which is the one that reads what was left there before.
//
//   NORMED      rows are normalized by mean and variance first; a thread holds OWN values of a row
//   PARAMETERS  a vector of weights and a result for each lerp
//   FACTORS     loads the weights of column `column`
//   STORES      stores each lerp from `values[q]` to `before[q]` for column `i`, at `at`, some rounded to f16 or, with BFLOATS, bf16
#define ROUNDED 1
#include "functions.h"
#include "reduce.h"
#include "results.h"

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
    f32 own[OWN], sum = 0, square = 0, value = 0;
    UNROLL for (i32 k = 0; k < OWN; k++) {
      i32 i = 256 * k + i32(thread());
      own[k] = i < width ? values[i] : 0.0f;
      sum += own[k];
    }
    f32 mean = block_sum<8>(sum, sums) / f32(width);
    UNROLL for (i32 k = 0; k < OWN; k++) {
      own[k] -= mean;
      if (256 * k + i32(thread()) < width) square += own[k] * own[k];
      if (k == i32(block_x())) value = own[k];
    }
    f32 deviation = square_root(block_sum<8>(square, squares) / f32(width) + epsilon);
    return value / deviation * weight + bias;
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
  i32 rows = *count, first = i32(block_y()) * ROWS, i = i32(block_x()) * 256 + i32(thread());
  bool inside = i < width, used = first < rows;
  i32 column = inside ? i : 0;
#if NORMED
  Source source = {x, width, column, norm_weight[column], norm_bias[column], epsilon, sums, squares};
#else
  Source source = {x, width, column};
#endif
  FACTORS
  // What no launch of a step but this one writes is loaded before the rows are there.
  i32 own[ROWS], starts[ROWS], ends[ROWS], position[ROWS];
  f32 values[ROWS], before[ROWS], left[ROWS];
  UNROLL for (i32 q = 0; q < ROWS; q++) {
    i32 row = min_of(first + q, rows - 1);
    own[q] = used ? slots[row] : 0, position[q] = used ? positions[row] : 0;
  }
  UNROLL for (i32 q = 0; q < ROWS; q++) {
    starts[q] = used ? slot_rows[2 * own[q]] : 0, ends[q] = used ? slot_rows[2 * own[q] + 1] : 0;
  }
  UNROLL for (i32 q = 0; q < ROWS; q++) {
    bool begins = min_of(first + q, rows - 1) == starts[q];
    before[q] = begins && position[q] != 0 ? last[i64(own[q]) * width + column] : 0.0f;
  }
  grid_dependency_wait();
  if (!used) return;
  // Everything is loaded before anything is stored: stores could be to the same memory, for all that the compiler knows.
  UNROLL for (i32 q = 0; q < ROWS; q++) {
    i32 row = min_of(first + q, rows - 1);
    bool begins = row == starts[q];
    values[q] = source.of(row);
    left[q] = begins && ends[q] - 1 != row ? source.of(ends[q] - 1) : values[q];
    if (!begins && position[q] != 0) before[q] = source.of(row_before(row, slots));
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

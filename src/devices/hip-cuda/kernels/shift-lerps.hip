// Token shift: lerps of a row towards the sequence's row before it. A thread takes a column of all rows. The row before is kept in a
// register while rows of one sequence follow each other.
//
//   NORMED      rows are normalized by mean and variance first
//   PARAMETERS  a vector of weights and a result for each lerp
//   STORES      stores each lerp from `value` to `before` for column `i`, at `at`
#include "functions.h"
#include "reduce.h"

/// Rows that are loaded at once: their stores could be to the same memory, for all that the compiler knows.
constexpr i32 AHEAD = NORMED ? 1 : 8;

#if NORMED
struct Moments {
  f32 mean, deviation;
};

DEVICE Moments moments(const f32* row, i32 width, f32 epsilon, f32* sums, f32* squares) {
  f32 sum = 0, square = 0;
  for (i32 c = thread(); c < width; c += 256) sum += row[c];
  f32 mean = block_sum<8>(sum, sums) / f32(width);
  for (i32 c = thread(); c < width; c += 256) square += (row[c] - mean) * (row[c] - mean);
  return {mean, square_root(block_sum<8>(square, squares) / f32(width) + epsilon)};
}
#endif

KERNEL(shift_lerps, 256, const i32* count, const i32* slots, const i32* positions, const f32* x, const f32* norm_weight,
       const f32* norm_bias, f32 epsilon, f32* last, i32 width PARAMETERS) {
#if NORMED
  SHARED f32 sums[8];
  SHARED f32 squares[8];
#endif
  grid_launch_dependents();
  grid_dependency_wait();
  i32 i = block_x() * 256 + thread(), rows = *count, slot = -1;
  bool inside = i < width;
  f32 previous = 0;
  for (i32 first = 0; first < rows; first += AHEAD) {
    f32 values[AHEAD];
    i32 row_slots[AHEAD], row_positions[AHEAD];
    UNROLL for (i32 q = 0; q < AHEAD; q++) {
      bool used = first + q < rows;
      values[q] = used && inside ? x[i64(first + q) * width + i] : 0.0f;
      row_slots[q] = used ? slots[first + q] : -1;
      row_positions[q] = used ? positions[first + q] : 0;
    }
#if NORMED
    Moments of = moments(x + i64(first) * width, width, epsilon, sums, squares);
    barrier();
    if (inside) values[0] = (values[0] - of.mean) / of.deviation * norm_weight[i] + norm_bias[i];
#endif
    if (!inside) continue;
    UNROLL for (i32 q = 0; q < AHEAD; q++) {
      i32 own = row_slots[q];
      if (own < 0) continue;
      if (own != slot) {
        if (slot >= 0) last[i64(slot) * width + i] = previous;
        previous = last[i64(own) * width + i];
        slot = own;
      }
      i64 at = i64(first + q) * width + i;
      f32 value = values[q], before = row_positions[q] == 0 ? 0.0f : previous;
      previous = value;
      STORES
    }
  }
  if (inside && slot >= 0) last[i64(slot) * width + i] = previous;
}

// Rows of f32 as f16 for the matrix cores, RMS-normed on the way where NORMED: a block a row, or a part of one that is padded on
// its own. A thread has OWN vectors of a row.
#include "halves.h"
#include "row-vectors.h"

KERNEL(convert_f16, THREADS, const i32* count, const f32* x, const f32* weight, u16* out, i32 width, i32 parts, f32 epsilon) {
  SHARED f32 sums[THREADS / 32];
  RowVectors row;
  row.load_weight(weight, width);
  grid_launch_dependents();
  grid_dependency_wait();
  i32 index = block_x();
  if (index >= *count * parts) return;
  row.load(x + i64(index) * width, width);
  row.norm(sums, width, epsilon);
  u16* to = out + i64(index) * padded_width(width);
  UNROLL for (i32 k = 0; k < OWN; k++) {
    i32 i = RowVectors::place(k);
    if (i >= padded_width(width)) continue;
    store_four_halves(to, i, row.at(k));
  }
}

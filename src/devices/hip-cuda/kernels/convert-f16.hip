// Rows of f32 as f16 for the matrix cores, RMS-normed on the way where NORMED: a block a row, or a part of one that is padded on
// its own. A thread has OWN vectors of a row. With PIECES, the rows are those of sums, each `apart` numbers behind the one before, which are
// added to `addend`, and come to `x`.
#include "halves.h"
#include "row-vectors.h"

KERNEL(convert_f16, THREADS, const i32* count, f32* x, const f32* weight, u16* out, i32 width, i32 parts, f32 epsilon, const f32* pieces, i32 apart,
       const f32* addend) {
  SHARED f32 sums[THREADS / 32];
  RowVectors row;
  row.load_weight(weight, width);
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  i32 index = block_x();
  if (index >= used * parts) return;
  i64 start = i64(index) * width;
#if PIECES
  row.load_sums(x + start, pieces + start, apart, addend + start, width);
#else
  row.load(x + start, width);
#endif
  row.norm(sums, width, epsilon);
  UNROLL for (i32 k = 0; k < OWN; k++) {
    i32 i = RowVectors::place(k);
    if (i >= padded_width(width)) continue;
    store_four_halves(out, index, width, i, row.at(k));
  }
}

// What is left to do behind collectives of the link's library, which knows nothing of rows in use.
#include "prelude.h"

/// The sums of the rows in use, with another tensor added to them if there is one. A thread has one number of a row.
KERNEL(add_sums, 256, const i32* count, const f32* sums, const f32* addend, f32* y, i32 width) {
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  i32 row = block_y(), n = i32(block_x()) * 256 + i32(thread());
  if (row >= used || n >= width) return;
  i64 at = i64(row) * width + n;
  y[at] = addend ? sums[at] + addend[at] : sums[at];
}

/// The rows in use of every rank side by side: its `rows` rows stand behind those of the ranks before it.
KERNEL(place_parts, 256, const i32* count, const f32* parts, f32* out, i32 rows, i32 width0, i32 width1, i32 width2, i32 width3,
       i32 width4, i32 width5, i32 width6, i32 width7) {
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  const i32 widths[8] = {width0, width1, width2, width3, width4, width5, width6, width7};
  i32 row = block_y(), n = i32(block_x()) * 256 + i32(thread()), total = 0;
  UNROLL for (i32 rank = 0; rank < 8; rank++) total += widths[rank];
  if (row >= used || n >= total) return;
  i32 before = 0;
  UNROLL for (i32 rank = 0; rank < 8; rank++) {
    if (n >= before && n < before + widths[rank])
      out[i64(row) * total + n] = parts[i64(before) * rows + i64(row) * widths[rank] + n - before];
    before += widths[rank];
  }
}

// Merges the partitions of a row's heads where no block of attention does: a block a row and head.
//
//   VALUE   size of a head's values
#define THREADS 128
#define OUT_TYPE 0
#include "attention-merge.h"

KERNEL(merge_attention, THREADS, const i32* count, const f32* partials, f32* out, i32 heads, i32 partitions, SCORE_PARAMETERS) {
  SHARED MergeMemory<1> memory;
  grid_dependency_wait();
  i32 row = block_x(), head = block_y();
  if (row >= *count) return;
  i64 at = i64(row) * heads + head;
  f32* to = out + at * VALUE;
  Partials of = {partials + at * partitions * PARTIAL, partitions, partitions, head, 1};
  merge_partitions(memory, of, SCORES, [&](i32 i, f32 value) { to[i] = value; });
}

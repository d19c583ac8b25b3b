// Merges the partitions of a row's heads where no block of attention does: a block a row and head.
//
//   VALUE   size of a head's values
#define THREADS 128
#define OUT_TYPE 0
#include "attention-merge.h"

KERNEL(merge_attention, THREADS, const i32* count, f32* partials, f32* out, i32 heads, i32 partitions, SCORE_PARAMETERS) {
  SHARED MergeMemory<1> memory;
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  i32 row = block_x(), head = block_y();
  if (row >= used) return;
  merge_partitions(memory, {out, partials, nullptr, 0, row, heads, head, 1, partitions, partitions}, SCORES);
}

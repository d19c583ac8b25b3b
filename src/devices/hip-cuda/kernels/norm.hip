// A block normalizes a group of a row: all of it as a rule.
#include "reduce.h"

#define WARPS (THREADS / 32)

#ifndef WEIGHT_BY_GROUP
#define WEIGHT_BY_GROUP 0
#endif

/// A thread holds OWN values of its group, and their weights before the launches that the values come from are done. `weight` has
/// one row for all groups or, with WEIGHT_BY_GROUP, a row for each; it and `addend` may be null.
KERNEL(rms_norm, THREADS, const i32* count, const f32* x, const f32* weight, const f32* addend, f32* out, i32 width, i32 group, f32 epsilon) {
  SHARED f32 sums[WARPS];
  f32 weights[OWN], values[OWN], square = 0;
  i32 used = *count;
  grid_launch_dependents();
  UNROLL for (i32 k = 0; k < OWN; k++) {
    i32 i = min_of(k * THREADS + i32(thread()), group - 1);
    weights[k] = weight ? weight[WEIGHT_BY_GROUP * i64(block_y()) * group + i] : 1.0f;
  }
  grid_dependency_wait();
  if (i32(block_x()) >= used) return;
  i64 start = i64(block_x()) * width + i64(block_y()) * group;
  UNROLL for (i32 k = 0; k < OWN; k++) {
    i32 i = k * THREADS + thread();
    values[k] = i < group ? x[start + i] : 0.0f;
  }
  UNROLL for (i32 k = 0; k < OWN; k++) square += values[k] * values[k];
  f32 rms = square_root(block_sum<WARPS>(square, sums) / f32(group) + epsilon);
  UNROLL for (i32 k = 0; k < OWN; k++) {
    i32 i = k * THREADS + thread();
    if (i >= group) continue;
    f32 normed = values[k] / rms * weights[k];
    out[start + i] = addend ? normed + addend[start + i] : normed;
  }
}

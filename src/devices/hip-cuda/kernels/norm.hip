// A block normalizes a group of a row: all of it as a rule.
#include "reduce.h"

#ifndef THREADS
#define THREADS 256
#endif
#define WARPS (THREADS / 32)

#ifndef WEIGHT_BY_GROUP
#define WEIGHT_BY_GROUP 0
#endif

#ifdef OWN
/// A thread holds OWN values of its group, and their weights before the launches that the values come from are done. `weight` has
/// one row for all groups or, with WEIGHT_BY_GROUP, a row for each; it and `addend` may be null.
KERNEL(rms_norm, THREADS, const i32* count, const f32* x, const f32* weight, const f32* addend, f32* out, i32 width, i32 group, f32 epsilon) {
  SHARED f32 sums[WARPS];
  f32 weights[OWN], values[OWN], square = 0;
  grid_launch_dependents();
  UNROLL for (i32 k = 0; k < OWN; k++) {
    i32 i = min_of(k * THREADS + i32(thread()), group - 1);
    weights[k] = weight ? weight[WEIGHT_BY_GROUP * i64(block_y()) * group + i] : 1.0f;
  }
  grid_dependency_wait();
  if (i32(block_x()) >= *count) return;
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
#else
DEVICE f32 sum_of_squares(const f32* x, i32 width, f32 mean) {
  f32 sum = 0;
  for (i32 i = thread(); i < width; i += THREADS) sum += (x[i] - mean) * (x[i] - mean);
  return sum;
}

/// `bias` may be null.
KERNEL(layer_norm, THREADS, const i32* count, const f32* x, const f32* weight, const f32* bias, f32* out, i32 width, f32 epsilon) {
  SHARED f32 sums[WARPS];
  SHARED f32 squares[WARPS];
  grid_launch_dependents();
  grid_dependency_wait();
  if (i32(block_x()) >= *count) return;
  i64 start = i64(block_x()) * width;
  f32 sum = 0;
  for (i32 i = thread(); i < width; i += THREADS) sum += x[start + i];
  f32 mean = block_sum<WARPS>(sum, sums) / f32(width);
  f32 square = block_sum<WARPS>(sum_of_squares(x + start, width, mean), squares);
  f32 deviation = square_root(square / f32(width) + epsilon);
  for (i32 i = thread(); i < width; i += THREADS) {
    f32 normed = (x[start + i] - mean) / deviation * weight[i];
    out[start + i] = bias ? normed + bias[i] : normed;
  }
}
#endif

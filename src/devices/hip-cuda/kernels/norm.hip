// A block normalizes a group of a row: all of it as a rule.
#include "reduce.h"

#define NORM_THREADS 256
#define NORM_WARPS (NORM_THREADS / 32)

DEVICE f32 sum_of_squares(const f32* x, i32 width, f32 mean) {
  f32 sum = 0;
  for (i32 i = thread(); i < width; i += NORM_THREADS) sum += (x[i] - mean) * (x[i] - mean);
  return sum;
}

#ifndef WEIGHT_BY_GROUP
#define WEIGHT_BY_GROUP 0
#endif

/// `weight` has one row for all groups or, with WEIGHT_BY_GROUP, a row for each; it and `addend` may be null.
KERNEL(rms_norm, NORM_THREADS, const i32* count, const f32* x, const f32* weight, const f32* addend, f32* out, i32 width, i32 group, f32 epsilon) {
  SHARED f32 sums[NORM_WARPS];
  grid_launch_dependents();
  grid_dependency_wait();
  if (i32(block_x()) >= *count) return;
  i64 start = i64(block_x()) * width + i64(block_y()) * group;
  f32 square = block_sum<NORM_WARPS>(sum_of_squares(x + start, group, 0.0f), sums);
  f32 rms = square_root(square / f32(group) + epsilon);
  for (i32 i = thread(); i < group; i += NORM_THREADS) {
    f32 normed = x[start + i] / rms;
    if (weight) normed *= weight[WEIGHT_BY_GROUP * i64(block_y()) * group + i];
    out[start + i] = addend ? normed + addend[start + i] : normed;
  }
}

/// `bias` may be null.
KERNEL(layer_norm, NORM_THREADS, const i32* count, const f32* x, const f32* weight, const f32* bias, f32* out, i32 width, f32 epsilon) {
  SHARED f32 sums[NORM_WARPS];
  SHARED f32 squares[NORM_WARPS];
  grid_launch_dependents();
  grid_dependency_wait();
  if (i32(block_x()) >= *count) return;
  i64 start = i64(block_x()) * width;
  f32 sum = 0;
  for (i32 i = thread(); i < width; i += NORM_THREADS) sum += x[start + i];
  f32 mean = block_sum<NORM_WARPS>(sum, sums) / f32(width);
  f32 square = block_sum<NORM_WARPS>(sum_of_squares(x + start, width, mean), squares);
  f32 deviation = square_root(square / f32(width) + epsilon);
  for (i32 i = thread(); i < width; i += NORM_THREADS) {
    f32 normed = (x[start + i] - mean) / deviation * weight[i];
    out[start + i] = bias ? normed + bias[i] : normed;
  }
}

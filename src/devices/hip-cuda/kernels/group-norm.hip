// A block normalizes a group of a row.
#include "reduce.h"

DEVICE f32 sum_of_squares(const f32* x, i32 size, f32 mean) {
  f32 sum = 0;
  for (i32 i = thread(); i < size; i += 256) sum += (x[i] - mean) * (x[i] - mean);
  return sum;
}

KERNEL(group_norm, 256, const i32* count, const f32* x, const f32* weight, const f32* bias, f32* out, i32 width, i32 size,
                       f32 epsilon) {
  SHARED f32 sums[8];
  SHARED f32 squares[8];
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  if (i32(block_x()) >= used) return;
  i32 group = i32(block_y()) * size;
  i64 start = i64(block_x()) * width + group;
  f32 sum = 0;
  for (i32 i = thread(); i < size; i += 256) sum += x[start + i];
  f32 mean = block_sum<8>(sum, sums) / f32(size);
  f32 square = block_sum<8>(sum_of_squares(x + start, size, mean), squares);
  f32 deviation = square_root(square / f32(size) + epsilon);
  for (i32 i = thread(); i < size; i += 256) {
    out[start + i] = (x[start + i] - mean) / deviation * weight[group + i] + bias[group + i];
  }
}

/// What lies above a threshold from the distribution of a row's values.
KERNEL(gaussian_top_k, 256, const i32* count, const f32* x, f32* out, i32 width, f32 deviations) {
  SHARED f32 sums[8];
  SHARED f32 squares[8];
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  if (i32(block_x()) >= used) return;
  i64 start = i64(block_x()) * width;
  f32 sum = 0;
  for (i32 i = thread(); i < width; i += 256) sum += x[start + i];
  f32 mean = block_sum<8>(sum, sums) / f32(width);
  f32 square = block_sum<8>(sum_of_squares(x + start, width, mean), squares);
  f32 threshold = mean + deviations * square_root(square / f32(width - 1));
  for (i32 i = thread(); i < width; i += 256) out[start + i] = max_of(x[start + i] - threshold, 0.0f);
}

/// By the length of a group, or by the root of its mean square.
KERNEL(l2_norm, 256, const i32* count, const f32* x, f32* out, i32 width, i32 size, f32 epsilon, i32 by_mean) {
  SHARED f32 squares[8];
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  if (i32(block_x()) >= used) return;
  i64 start = i64(block_x()) * width + i64(block_y()) * size;
  f32 square = block_sum<8>(sum_of_squares(x + start, size, 0.0f), squares);
  f32 length = by_mean ? square_root(square / f32(size) + epsilon) : max_of(epsilon, square_root(square));
  for (i32 i = thread(); i < size; i += 256) out[start + i] = x[start + i] / length;
}

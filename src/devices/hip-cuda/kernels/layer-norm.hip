// A block normalizes a row by its mean and variance. A thread holds OWN values of the row, and their weights and biases before the launches
// that the values come from are done.
#include "reduce.h"

#define WARPS (THREADS / 32)

/// `bias` may be null.
KERNEL(layer_norm, THREADS, const i32* count, const f32* x, const f32* weight, const f32* bias, f32* out, i32 width, f32 epsilon) {
  SHARED f32 sums[WARPS];
  SHARED f32 squares[WARPS];
  f32 weights[OWN], biases[OWN], values[OWN], sum = 0, square = 0;
  i32 used = *count;
  grid_launch_dependents();
  UNROLL for (i32 k = 0; k < OWN; k++) {
    i32 i = min_of(k * THREADS + i32(thread()), width - 1);
    weights[k] = weight[i];
    biases[k] = bias ? bias[i] : 0.0f;
  }
  grid_dependency_wait();
  if (i32(block_x()) >= used) return;
  i64 start = i64(block_x()) * width;
  UNROLL for (i32 k = 0; k < OWN; k++) {
    i32 i = k * THREADS + thread();
    values[k] = i < width ? x[start + i] : 0.0f;
    sum += values[k];
  }
  f32 mean = block_sum<WARPS>(sum, sums) / f32(width);
  UNROLL for (i32 k = 0; k < OWN; k++) {
    values[k] -= mean;
    if (k * THREADS + i32(thread()) < width) square += values[k] * values[k];
  }
  f32 deviation = square_root(block_sum<WARPS>(square, squares) / f32(width) + epsilon);
  UNROLL for (i32 k = 0; k < OWN; k++) {
    i32 i = k * THREADS + thread();
    if (i < width) out[start + i] = values[k] / deviation * weights[k] + biases[k];
  }
}

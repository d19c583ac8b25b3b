// How layers read and write several residual streams; a thread takes a row.
//
//   STREAMS      of them      READS   1 where rows are only read      ITERATIONS  Sinkhorn's
#include "activation.h"

/// Divides numbers that are `step` apart by their sum.
DEVICE void divide(f32* line, i32 step, f32 epsilon) {
  f32 sum = epsilon;
  for (i32 i = 0; i < STREAMS; i++) sum += line[i * step];
  for (i32 i = 0; i < STREAMS; i++) line[i * step] /= sum;
}

KERNEL(stream_shares, 32, const i32* count, const f32* mixes, const f32* scale, const f32* base, f32* out, f32 epsilon) {
  constexpr i32 WIDTH = READS ? STREAMS : STREAMS * (STREAMS + 2);
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  i32 row = block_x() * 32 + thread();
  if (row >= used) return;
  const f32* own = mixes + i64(row) * WIDTH;
  f32* shares = out + i64(row) * WIDTH;
  for (i32 i = 0; i < STREAMS; i++) shares[i] = sigmoid(fused_multiply_add(own[i], scale[0], base[i])) + epsilon;
#if !READS
  f32 matrix[STREAMS * STREAMS];
  for (i32 from = 0; from < STREAMS; from++) {
    f32* line = matrix + from * STREAMS;
    f32 largest = -1e38f, sum = 0;
    for (i32 to = 0; to < STREAMS; to++) {
      i32 at = 2 * STREAMS + from * STREAMS + to;
      line[to] = fused_multiply_add(own[at], scale[2], base[at]);
      largest = max_of(largest, line[to]);
    }
    for (i32 to = 0; to < STREAMS; to++) sum += line[to] = exponential(line[to] - largest);
    for (i32 to = 0; to < STREAMS; to++) line[to] = line[to] / sum + epsilon;
  }
  for (i32 iteration = 0; iteration < ITERATIONS; iteration++) {
    for (i32 from = 0; iteration > 0 && from < STREAMS; from++) divide(matrix + from * STREAMS, 1, epsilon);
    for (i32 to = 0; to < STREAMS; to++) divide(matrix + to, STREAMS, epsilon);
  }
  for (i32 to = 0; to < STREAMS; to++) {
    f32* line = shares + STREAMS + to * (STREAMS + 1);
    for (i32 from = 0; from < STREAMS; from++) line[from] = matrix[from * STREAMS + to];
    line[STREAMS] = 2.0f * sigmoid(fused_multiply_add(own[STREAMS + to], scale[1], base[STREAMS + to]));
  }
#endif
}

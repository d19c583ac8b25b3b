// A norm of groups of SIZE elements with a gate on its result, fn(gate) * norm(x), as gated delta nets have it. A warp takes a group.
//
//   OUTPUT  0 f32   1 halves
#include "activation.h"
#include "halves.h"
#include "reduce.h"

constexpr i32 THREADS = 128, OWN = SIZE / LANES;

KERNEL(gated_norm, THREADS, const i32* count, const f32* x, const f32* weight, const f32* gate, void* y, i32 width,
       f32 epsilon) {
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  i32 group = i32(block_x()) * (THREADS / LANES) + thread() / LANES, groups = width / SIZE, row = group / groups;
  if (row >= used) return;
  i32 column = group % groups * SIZE + i32(lane());
  i64 at = i64(row) * width + column;
  f32 value[OWN], square = 0;
  UNROLL for (i32 c = 0; c < OWN; c++) {
    value[c] = x[at + c * LANES];
    square = fused_multiply_add(value[c], value[c], square);
  }
  f32 rms = square_root(warp_sum(square) / f32(SIZE) + epsilon);
  UNROLL for (i32 c = 0; c < OWN; c++) {
    i32 i = c * LANES;
    f32 result = gated(gate[at + i], value[c] / rms * weight[lane() + i]);
#if OUTPUT == 1
    store_half(static_cast<u16*>(y), row, width, column + i, result);
#else
    static_cast<f32*>(y)[at + i] = result;
#endif
  }
}

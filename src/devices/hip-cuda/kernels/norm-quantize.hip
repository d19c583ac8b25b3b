// RMS norm and quantization to 8 bits of whole rows, a block a row: what matrix-vector products of several rows read.
#include "quantized.h"

#define THREADS 256

KERNEL(norm_quantize, THREADS, const i32* count, const f32* x, const f32* weight, u8* out, i32 rows, i32 groups, f32 epsilon) {
  SHARED f32 sums[THREADS / 32];
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  i32 row = block_x(), width = 32 * groups;
  if (row >= used) return;
  const f32x4* from = reinterpret_cast<const f32x4*>(x + i64(row) * width);
  f32 square = 0;
  for (i32 i = thread(); i < width / 4; i += THREADS) {
    f32x4 v = from[i];
    square += v.x * v.x + v.y * v.y + (v.z * v.z + v.w * v.w);
  }
  f32 rms = square_root(block_sum<THREADS / 32>(square, sums) / f32(width) + epsilon);
  i32 steps = (4 * groups + THREADS - 1) / THREADS;
  for (i32 step = 0; step < steps; step++) {
    i32 i = step * THREADS + thread();
    bool inside = i < 4 * groups;
    f32 values[8];
    UNROLL for (i32 half = 0; half < 2; half++) {
      f32x4 v = from[inside ? 2 * i + half : 0], w = reinterpret_cast<const f32x4*>(weight)[inside ? 2 * i + half : 0];
      values[4 * half] = v.x / rms * w.x, values[4 * half + 1] = v.y / rms * w.y;
      values[4 * half + 2] = v.z / rms * w.z, values[4 * half + 3] = v.w / rms * w.w;
    }
    u32 quads[2];
    GroupScale scale = quantize_eight(values, quads);
    if (!inside) continue;
    i64 index = i64(row) * groups + (i >> 2);
    reinterpret_cast<u32x2*>(out)[4 * index + (i & 3)] = {quads[0], quads[1]};
    if ((i & 3) == 0) reinterpret_cast<GroupScale*>(out + quantized_bytes(rows, groups))[index] = scale;
  }
}

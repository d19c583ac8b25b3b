#include "quantized.h"

/// Rows of f32 to 8 bits: four lanes a group.
KERNEL(quantize_rows, 128, const i32* count, const f32* x, u8* out, i32 rows, i32 groups) {
  i32 used_rows = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  i64 at = i64(block_x()) * 128 + thread(), group = at >> 2;
  bool used = group < i64(used_rows) * groups;
  f32 values[8];
  UNROLL for (i32 i = 0; i < 8; i++) values[i] = used ? x[at * 8 + i] : 0.0f;
  u32 quads[2];
  GroupScale scale = quantize_eight(values, quads);
  if (!used) return;
  reinterpret_cast<u32x2*>(out)[at] = {quads[0], quads[1]};
  if ((thread() & 3) == 0) reinterpret_cast<GroupScale*>(out + quantized_bytes(rows, groups))[group] = scale;
}

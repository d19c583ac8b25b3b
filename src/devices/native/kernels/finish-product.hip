// What is made of the BLAS library's sums, whose rows hold one part's outputs or two's side by side.
//
//   OUTPUT  0 f32 (+ bias)   1 f32 + residual   2 activation(gate) * up as halves   3 the same as f32
#include "activation.h"
#include "halves.h"

KERNEL(finish_product, 256, const i32* count, const f32* sums, i32 outputs, const f32* addend, void* y) {
  release_successor();
  await_inputs();
  i32 row = block_y(), n = i32(block_x()) * 256 + thread();
  if (row >= *count || n >= outputs) return;
  [[maybe_unused]] i64 at = i64(row) * outputs + n;
#if OUTPUT == 0
  static_cast<f32*>(y)[at] = addend ? sums[at] + addend[n] : sums[at];
#elif OUTPUT == 1
  static_cast<f32*>(y)[at] = sums[at] + addend[at];
#else
  f32 value = activation(sums[at + i64(row) * outputs]) * sums[at + i64(row + 1) * outputs];
#if OUTPUT == 2
  store_half(static_cast<u16*>(y) + i64(row) * halves_width(outputs), n, value);
#else
  static_cast<f32*>(y)[at] = value;
#endif
#endif
}

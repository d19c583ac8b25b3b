// The epilogue of products whose sums are in memory: the BLAS library's, whose rows hold one part's outputs or two's side by side, and
// those whose k blocks divide among them.
//
//   PIECES  matrices of sums that are added up, each `apart` numbers behind the one before; of gates and ups there is one
//   HALVES  1 where sums of gates and ups are f16; those beyond its range are its largest
//   OUTPUT  0 f32 (+ bias)   1 f32 + residual   2 gated(gate, up) as halves   3 the same as f32
#include "activation.h"
#include "four.h"
#include "halves.h"

#if OUTPUT >= 2
/// Four of the gates or ups from number `at` on.
DEVICE f32x4 load_part(const f32* sums, i64 at) {
#if HALVES
  u32x2 four = *reinterpret_cast<const u32x2*>(reinterpret_cast<const u16*>(sums) + at);
  auto half = [](u32 word) { return clamp_half(half_to_float(u16(word))); };
  return {half(four.x), half(four.x >> 16), half(four.y), half(four.y >> 16)};
#else
  return load_four(sums + at);
#endif
}
DEVICE f32x4 gate_four(f32x4 gate, f32x4 up) {
  return {gated(gate.x, up.x), gated(gate.y, up.y), gated(gate.z, up.z), gated(gate.w, up.w)};
}
#endif

/// A thread finishes four outputs.
KERNEL(finish_product, 256, const i32* count, const f32* sums, i32 outputs, i32 apart, const f32* addend, void* y) {
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  i32 row = block_y(), n = 4 * (i32(block_x()) * 256 + i32(thread()));
  if (row >= used || n >= outputs) return;
  [[maybe_unused]] i64 at = i64(row) * outputs + n;
#if OUTPUT == 0
  f32x4 value = sum_of_pieces<PIECES>(sums + at, apart);
  if (addend) value = add_four(value, load_four(addend + n));
#elif OUTPUT == 1
  f32x4 value = add_four(sum_of_pieces<PIECES>(sums + at, apart), load_four(addend + at));
#else
  f32x4 value = gate_four(load_part(sums, at + i64(row) * outputs), load_part(sums, at + i64(row + 1) * outputs));
#endif
#if OUTPUT == 2
  store_four_halves(static_cast<u16*>(y), row, outputs, n, value);
#else
  *reinterpret_cast<f32x4*>(static_cast<f32*>(y) + at) = value;
#endif
}

// Four neighbouring numbers at once, and sums of them that lie in pieces, each `apart` numbers behind the one before.
#pragma once
#include "prelude.h"

DEVICE f32x4 load_four(const f32* from) { return *reinterpret_cast<const f32x4*>(from); }
DEVICE f32x4 add_four(f32x4 a, f32x4 b) { return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w}; }
template <i32 pieces>
DEVICE f32x4 sum_of_pieces(const f32* from, i32 apart) {
  f32x4 sum = load_four(from);
  UNROLL for (i32 piece = 1; piece < pieces; piece++) sum = add_four(sum, load_four(from + i64(piece) * apart));
  return sum;
}

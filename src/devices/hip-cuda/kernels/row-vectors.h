// A row of f32 in a block's registers, OWN vectors of four for each of THREADS threads, RMS-normed where NORMED. Rows that need more
// registers are read again instead.
#pragma once
#include "four.h"
#include "reduce.h"

#ifndef PIECES
#define PIECES 0
#endif

constexpr bool KEPT = OWN <= 4;

struct RowVectors {
  const f32* from;
  const f32* weight;
  i32 width;
  f32 scale;
  f32x4 values[KEPT ? OWN : 1], weights[KEPT && NORMED ? OWN : 1];

  /// The first element of the thread's vector `k`.
  DEVICE i32 place(i32 k) { return 4 * (k * THREADS + i32(thread())); }
  DEVICE f32x4 vector(const f32* of, i32 i, i32 end) { return i < end ? load_four(of + i) : f32x4{0, 0, 0, 0}; }

  /// Loads the norm's weight, before the launches that the row comes from are done.
  DEVICE_MEMBER void load_weight(const f32* of, i32 elements) {
    weight = of;
    UNROLL for (i32 k = 0; k < OWN; k++) {
      if (KEPT && NORMED) weights[k] = vector(of, place(k), elements);
    }
  }
  DEVICE_MEMBER void load(const f32* row, i32 elements) {
    from = row, width = elements, scale = 1;
    UNROLL for (i32 k = 0; k < OWN; k++) {
      if (KEPT) values[k] = vector(row, place(k), elements);
    }
  }
#if PIECES
  /// The same of sums, in PIECES, and of what they are added to; writes the row, which the thread holds.
  DEVICE_MEMBER void load_sums(f32* row, const f32* pieces, i32 apart, const f32* addend, i32 elements) {
    static_assert(KEPT);
    from = row, width = elements, scale = 1;
    UNROLL for (i32 k = 0; k < OWN; k++) {
      i32 i = place(k);
      values[k] = {0, 0, 0, 0};
      if (i >= elements) continue;
      values[k] = add_four(sum_of_pieces<PIECES>(pieces + i, apart), load_four(addend + i));
      *reinterpret_cast<f32x4*>(row + i) = values[k];
    }
  }
#endif
  DEVICE_MEMBER void norm(f32* sums, i32 elements, f32 epsilon) {
    if (!NORMED) return;
    f32 square = 0;
    UNROLL for (i32 k = 0; k < OWN; k++) {
      f32x4 v = KEPT ? values[k] : vector(from, place(k), elements);
      square += v.x * v.x + v.y * v.y + (v.z * v.z + v.w * v.w);
    }
    scale = 1.0f / square_root(block_sum<THREADS / 32>(square, sums) / f32(elements) + epsilon);
  }
  /// The thread's vector `k`, zeros behind the row's end.
  DEVICE_MEMBER f32x4 at(i32 k) const {
    f32x4 v = KEPT ? values[k] : vector(from, place(k), width);
    if (!NORMED) return v;
    f32x4 w = KEPT ? weights[k] : vector(weight, place(k), width);
    return {v.x * scale * w.x, v.y * scale * w.y, v.z * scale * w.z, v.w * scale * w.w};
  }
};

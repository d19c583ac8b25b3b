// Where the outputs of a product of many rows lie, and what is done with its sums.
//
//   OUTPUT  0 f32 (+ bias)   1 f32 + residual   2 gated(gate, up) as halves; gate and up are one product whose tiles of
//           16 outputs take turns   3 the same as f32
#pragma once
#include "activation.h"
#include "halves.h"

#define PARTS (OUTPUT >= 2 ? 2 : 1)

/// The row of the packed weights that a line of a tile is, which begins with line `first` of all tiles'.
DEVICE i64 weight_row(i32 first, i32 line, i32 outputs) {
  if (PARTS == 1) return min_of(first + line, outputs - 1);
  i32 n = first / 2 + (line >> 5) * 16 + (line & 15);
  return i64((line >> 4) & 1) * outputs + min_of(n, outputs - 1);
}

#if OUTPUT < 2
DEVICE void write_output(void* y, const f32* addend, i64 row, i32 n, i32 outputs, f32 value) {
#if OUTPUT == 0
  static_cast<f32*>(y)[row * outputs + n] = addend ? value + addend[n] : value;
#else
  static_cast<f32*>(y)[row * outputs + n] = value + addend[row * outputs + n];
#endif
}
#else
DEVICE void write_gated(void* y, i64 row, i32 n, i32 outputs, f32 gate, f32 up) {
#if OUTPUT == 2
  store_half(static_cast<u16*>(y), row, outputs, n, gated(gate, up));
#else
  static_cast<f32*>(y)[row * outputs + n] = gated(gate, up);
#endif
}
#endif

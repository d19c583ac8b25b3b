// Activations as half floats for the matrix cores: rows of groups of 32 elements, each group four octets of 16 bytes in the
// order that `matrix.h` wants. Numbers beyond what halves hold are cut to the largest.
#pragma once
#include "prelude.h"

constexpr f32 LARGEST_HALF = 65504.0f;

DEVICE f32 within_halves(f32 value) {
  return value > LARGEST_HALF ? LARGEST_HALF : value < -LARGEST_HALF ? -LARGEST_HALF : value;
}

/// Where element `i` of a row stands among the row's halves.
DEVICE i64 half_place(i64 i) { return (i & ~i64(31)) + 8 * ((i & 15) >> 2) + 4 * ((i >> 4) & 1) + (i & 3); }

DEVICE void store_half(u16* row, i64 i, f32 value) { row[half_place(i)] = float_to_half(within_halves(value)); }

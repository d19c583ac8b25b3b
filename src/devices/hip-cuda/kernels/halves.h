// Activations as f16 for the matrix cores. A group of 32 elements is four octets of 16 bytes, octet t of elements
// 4t ... 4t + 3 and 16 + 4t ... 19 + 4t, of each four the second and third in each other's place: bytes of weights that are one mask apart
// are a pair. A row is chunks of four groups, in which the groups' octets of one index stand side by side, and is filled up with zeros to
// whole chunks. Numbers beyond f16's range are clamped to the largest.
#pragma once
#include "prelude.h"

#define GROUP_OCTETS 4
#define CHUNK_GROUPS 4
#define CHUNK_OCTETS (CHUNK_GROUPS * GROUP_OCTETS)

constexpr f32 MAX_HALF = 65504.0f;

DEVICE f32 clamp_half(f32 value) {
  return value > MAX_HALF ? MAX_HALF : value < -MAX_HALF ? -MAX_HALF : value;
}

/// The f16 elements that a row of so many elements takes, padding included.
DEVICE i32 padded_width(i32 width) { return (width + 127) & ~127; }

/// The index of octet `t` of a group among the row's octets.
DEVICE i32 octet_index(i32 group, i32 t) { return (group >> 2) * CHUNK_OCTETS + CHUNK_GROUPS * t + (group & 3); }

/// The index of element `i` of a row among the row's f16 elements.
DEVICE i32 half_index(i32 i) {
  return 8 * octet_index(i >> 5, (i & 15) >> 2) + 4 * ((i >> 4) & 1) + 2 * (i & 1) + ((i >> 1) & 1);
}

DEVICE void store_half(u16* row, i32 i, f32 value) { row[half_index(i)] = float_to_half(clamp_half(value)); }
/// Four elements of a row from element `i` on, a multiple of four.
DEVICE void store_four_halves(u16* row, i32 i, f32x4 of) {
  u32x2 halves = {pack_half2(clamp_half(of.x), clamp_half(of.z)), pack_half2(clamp_half(of.y), clamp_half(of.w))};
  *reinterpret_cast<u32x2*>(row + half_index(i)) = halves;
}

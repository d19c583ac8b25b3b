// Activations as f16 for the matrix cores. A group of 32 elements is four octets of 16 bytes, octet t of elements
// 4t ... 4t + 3 and 16 + 4t ... 19 + 4t, of each four the second and third in each other's place: bytes of weights that are one mask apart
// are a pair. A row is chunks of four groups, in which the groups' octets of one index stand side by side, and is filled up with zeros to
// whole chunks. Numbers beyond f16's range are clamped to the largest.
//
//   CORE_MATRICES  1 where the asynchronous products of Hopper read them (PTX ISA, "wgmma.mma_async", core matrices): of 64 rows and an
//                  octet index of four groups, eight rows after eight; of these, word after word of the octets, and of a word all rows, each
//                  with its four groups' side by side: 16 bytes. So a core matrix of eight rows is 128 bytes, and a tile of any 64 rows by
//                  32 elements one piece of memory
#pragma once
#include "prelude.h"

#define GROUP_OCTETS 4
#define CHUNK_GROUPS 4
#define CHUNK_OCTETS (CHUNK_GROUPS * GROUP_OCTETS)
#ifndef CORE_MATRICES
#define CORE_MATRICES 0
#endif
/// Rows of core matrices that lie together, and the f16 elements of so many rows by 32 elements.
#define SLAB_ROWS 64
#define SLAB_HALVES (32 * SLAB_ROWS)

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

/// The index of element `i` of a row of `width` among all rows' f16 elements. The next but one is its neighbour where `i` is a multiple of four, or
/// of four and one.
DEVICE i64 half_place(i64 row, i32 width, i32 i) {
#if CORE_MATRICES
  i32 part = (i >> 7) * GROUP_OCTETS + ((i & 15) >> 2), word = 2 * ((i >> 4) & 1) + (i & 1);
  i64 slab = row / SLAB_ROWS * (padded_width(width) / 32) + part;
  return slab * SLAB_HALVES + (((row >> 3) & 7) * 4 + word) * 64 + (row & 7) * 8 + 2 * ((i >> 5) & 3) + ((i >> 1) & 1);
#else
  return row * padded_width(width) + half_index(i);
#endif
}

DEVICE void store_half(u16* to, i64 row, i32 width, i32 i, f32 value) { to[half_place(row, width, i)] = float_to_half(clamp_half(value)); }
/// Four elements of a row from element `i` on, a multiple of four: the first and the third, and the second and the fourth.
DEVICE void store_four(u16* to, i64 row, i32 width, i32 i, u32 even, u32 odd) {
#if CORE_MATRICES
  *reinterpret_cast<u32*>(to + half_place(row, width, i)) = even;
  *reinterpret_cast<u32*>(to + half_place(row, width, i + 1)) = odd;
#else
  *reinterpret_cast<u32x2*>(to + half_place(row, width, i)) = {even, odd};
#endif
}
DEVICE void store_four_halves(u16* to, i64 row, i32 width, i32 i, f32x4 of) {
  store_four(to, row, width, i, pack_half2(clamp_half(of.x), clamp_half(of.z)), pack_half2(clamp_half(of.y), clamp_half(of.w)));
}

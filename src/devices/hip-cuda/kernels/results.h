// Results of sixteen bits that products read: f16 as halves.h has them, or with ROUNDED numbers in the order in which they stand, f16 or,
// with BFLOATS, bf16. Numbers beyond the range of f16 are the largest.
#pragma once
#include "halves.h"
#include "narrow.h"

DEVICE u16 rounded(f32 value) { return narrowed(BFLOATS ? value : clamp_half(value)); }

/// Four elements of a row of `width` from element `i` on, a multiple of four.
DEVICE void store_results(u16* to, i64 row, i32 width, i32 i, u32x2 of) {
#if ROUNDED
  *reinterpret_cast<u32x2*>(to + row * width + i) = of;
#else
  store_four(to, row, width, i, byte_permute(of.x, of.y, 0x5410u), byte_permute(of.x, of.y, 0x7632u));
#endif
}
/// Two elements of a row from element `i` on, an even one.
DEVICE void store_results(u16* to, i64 row, i32 width, i32 i, u16 first, u16 second) {
#if ROUNDED
  *reinterpret_cast<u32*>(to + row * width + i) = first | u32(second) << 16;
#else
  to[half_place(row, width, i)] = first, to[half_place(row, width, i + 1)] = second;
#endif
}

#pragma once
#include "packed/quants.h"
#include "packed/scales.h"

struct PackedFormat {
  typedef Quants<5> Q;
  typedef HalfScales S;
  static constexpr i32 OFFSET = 16, BLOCK_GROUPS = 1, BLOCK_BYTES = 22;
  static constexpr bool SIGNED = false;
  DEVICE u32 levels(u32 quad) { return quad; }
  DEVICE u32 quant(const u8* block, i32, i32 i) {
    return ((block[6 + (i & 15)] >> (i >> 4 << 2)) & 15) | (((block[2 + (i >> 3)] >> (i & 7)) & 1) << 4);
  }
  DEVICE void store_scales(const S::Planes& planes, i64 group, const u8* block, i32) {
    planes.d[group] = u16(bytes_u16(block));
  }
};

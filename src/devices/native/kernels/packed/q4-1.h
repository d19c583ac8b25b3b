#pragma once
#include "packed/quants.h"
#include "packed/scales.h"

struct PackedFormat {
  typedef Quants<4> Q;
  typedef HalfScalesAndMins S;
  static constexpr i32 OFFSET = 0, BLOCK_GROUPS = 1, BLOCK_BYTES = 20;
  static constexpr bool SIGNED = false;
  DEVICE u32 levels(u32 quad) { return quad; }
  DEVICE u32 quant(const u8* block, i32, i32 i) { return (block[4 + (i & 15)] >> (i >> 4 << 2)) & 15; }
  DEVICE void store_scales(const S::Planes& planes, i64 group, const u8* block, i32) {
    planes.pair[group] = bytes_u32(block);
  }
};

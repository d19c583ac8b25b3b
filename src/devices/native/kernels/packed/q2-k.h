#pragma once
#include "packed/quants.h"
#include "packed/scales.h"

struct PackedFormat {
  typedef Quants<2> Q;
  typedef ByteScalesAndMins<true> S;
  static constexpr i32 OFFSET = 0, BLOCK_GROUPS = 8, BLOCK_BYTES = 84;
  static constexpr bool SIGNED = false;
  DEVICE u32 levels(u32 quad) { return quad; }
  DEVICE u32 quant(const u8* block, i32 group, i32 i) {
    return (block[16 + 32 * (group >> 2) + i] >> (2 * (group & 3))) & 3;
  }
  DEVICE void store_scales(const S::Planes& planes, i64 index, const u8* block, i32 group) {
    if (group == 0) planes.pair[index >> 3] = bytes_u32(block + 80);
    planes.bytes[index] = u16(bytes_u16(block + 2 * group));
  }
};

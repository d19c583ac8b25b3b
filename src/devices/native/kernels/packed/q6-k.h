#pragma once
#include "packed/quants.h"
#include "packed/scales.h"

struct PackedFormat {
  typedef Quants<6> Q;
  typedef ByteScales S;
  static constexpr i32 OFFSET = 32, BLOCK_GROUPS = 8, BLOCK_BYTES = 210;
  static constexpr bool SIGNED = false;
  DEVICE u32 levels(u32 quad) { return quad; }
  DEVICE u32 quant(const u8* block, i32 group, i32 i) {
    i32 half = group >> 2, run = group & 3;
    u32 low = (block[64 * half + 32 * (run & 1) + i] >> (4 * (run >> 1))) & 15;
    return low | (((block[128 + 32 * half + i] >> (2 * run)) & 3) << 4);
  }
  DEVICE void store_scales(const S::Planes& planes, i64 index, const u8* block, i32 group) {
    if (group == 0) planes.d[index >> 3] = u16(bytes_u16(block + 208));
    planes.bytes[index] = u16(bytes_u16(block + 192 + 2 * group));
  }
};

#pragma once
#include "formats/q3-k.h"
#include "packed/quants.h"
#include "packed/scales.h"

struct PackedFormat {
  typedef Quants<3> Q;
  typedef ByteScales S;
  static constexpr i32 OFFSET = 4, BLOCK_GROUPS = 8, BLOCK_BYTES = 110;
  static constexpr bool SIGNED = false;
  DEVICE u32 levels(u32 quad) { return quad; }
  DEVICE u32 quant(const u8* block, i32 group, i32 i) {
    return ((block[32 + 32 * (group >> 2) + i] >> (2 * (group & 3))) & 3) | (((block[i] >> group) & 1) << 2);
  }
  DEVICE void store_scales(const S::Planes& planes, i64 index, const u8* block, i32 group) {
    if (group == 0) planes.d[index >> 3] = u16(bytes_u16(block + 108));
    u32 low = scale_q3(block + 96, 2 * group) & 255, high = scale_q3(block + 96, 2 * group + 1) & 255;
    planes.bytes[index] = u16(low | (high << 8));
  }
};

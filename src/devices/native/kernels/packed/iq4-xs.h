#pragma once
#include "formats/iq4-xs.h"
#include "packed/iq4-lookup.h"
#include "packed/quants.h"
#include "packed/scales.h"

struct PackedFormat {
  typedef Quants<4> Q;
  typedef ByteScalesWhole S;
  static constexpr i32 OFFSET = 0, BLOCK_GROUPS = 8, BLOCK_BYTES = 136;
  static constexpr bool SIGNED = true;
  DEVICE u32 levels(u32 quad) { return iq4_levels(quad); }
  DEVICE u32 quant(const u8* block, i32 group, i32 i) {
    return (block[8 + 16 * group + (i & 15)] >> (i >> 4 << 2)) & 15;
  }
  DEVICE void store_scales(const S::Planes& planes, i64 index, const u8* block, i32 group) {
    if (group == 0) planes.d[index >> 3] = u16(bytes_u16(block));
    u32 scale = scale_iq4(block, group) & 255;
    planes.bytes[index] = u16(scale | (scale << 8));
  }
};

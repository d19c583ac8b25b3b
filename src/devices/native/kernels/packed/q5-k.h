#pragma once
#include "formats/k-scales.h"
#include "packed/quants.h"
#include "packed/scales.h"

struct PackedFormat {
  typedef Quants<5> Q;
  typedef ByteScalesAndMins<false> S;
  static constexpr i32 OFFSET = 0, BLOCK_GROUPS = 8, BLOCK_BYTES = 176;
  static constexpr bool SIGNED = false;
  DEVICE u32 levels(u32 quad) { return quad; }
  DEVICE u32 quant(const u8* block, i32 group, i32 i) {
    return ((block[48 + 32 * (group >> 1) + i] >> (4 * (group & 1))) & 15) | (((block[16 + i] >> group) & 1) << 4);
  }
  DEVICE void store_scales(const S::Planes& planes, i64 index, const u8* block, i32 group) {
    if (group == 0) planes.pair[index >> 3] = bytes_u32(block);
    planes.bytes[index] = u16(scale_k(block + 4, group) | (min_k(block + 4, group) << 8));
  }
};

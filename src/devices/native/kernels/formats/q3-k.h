#pragma once
#include "prelude.h"

/// Scale `group` of 16: four bits from one of the first eight bytes, two from one of the last four; less 32.
DEVICE i32 scale_q3(const u8* at, i32 group) {
  u32 nibbles = at[group & 7];
  u32 low = group < 8 ? nibbles & 15 : nibbles >> 4;
  return i32(low | (((at[8 + (group & 3)] >> (2 * (group >> 2))) & 3) << 4)) - 32;
}

struct FileFormat {
  static constexpr i32 ELEMENTS = 256, BYTES = 110, STEP = 8;
  DEVICE void decode(const u8* block, i32 part, f32* out) {
    i32 group = part >> 1, column = 16 * (group & 1) + 8 * (part & 1);
    f32 scale = bytes_half(block + 108) * f32(scale_q3(block + 96, group));
    const u8* lows = block + 32 + 32 * (group >> 3) + column;
    i32 shift = group & 6, third = group >> 1;
    UNROLL for (i32 i = 0; i < 8; i++) {
      i32 q = ((lows[i] >> shift) & 3) + 4 * ((block[column + i] >> third) & 1);
      out[i] = scale * f32(q - 4);
    }
  }
};

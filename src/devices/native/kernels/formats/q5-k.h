#pragma once
#include "formats/k-scales.h"

struct FileFormat {
  static constexpr i32 ELEMENTS = 256, BYTES = 176, STEP = 8;
  DEVICE void decode(const u8* block, i32 part, f32* out) {
    i32 group = part >> 2, column = 8 * (part & 3);
    f32 scale = bytes_half(block) * f32(scale_k(block + 4, group));
    f32 min = bytes_half(block + 2) * f32(min_k(block + 4, group));
    const u8* lows = block + 48 + 32 * (group >> 1) + column;
    const u8* fifths = block + 16 + column;
    UNROLL for (i32 i = 0; i < 8; i++) {
      u32 q = ((lows[i] >> (4 * (group & 1))) & 15) + 16 * ((fifths[i] >> group) & 1);
      out[i] = scale * f32(q) - min;
    }
  }
};

#pragma once
#include "formats/k-scales.h"

struct FileFormat {
  static constexpr i32 ELEMENTS = 256, BYTES = 144, STEP = 8;
  DEVICE void decode(const u8* block, i32 part, f32* out) {
    i32 group = part >> 2;
    f32 scale = bytes_half(block) * f32(scale_k(block + 4, group));
    f32 min = bytes_half(block + 2) * f32(min_k(block + 4, group));
    const u8* quants = block + 16 + 32 * (group >> 1) + 8 * (part & 3);
    UNROLL for (i32 i = 0; i < 8; i++) out[i] = scale * f32((quants[i] >> (4 * (group & 1))) & 15) - min;
  }
};

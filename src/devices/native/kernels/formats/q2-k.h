#pragma once
#include "prelude.h"

struct FileFormat {
  static constexpr i32 ELEMENTS = 256, BYTES = 84, STEP = 8;
  DEVICE void decode(const u8* block, i32 part, f32* out) {
    i32 group = part >> 1;
    u32 packed = block[group];
    f32 scale = bytes_half(block + 80) * f32(packed & 15), min = bytes_half(block + 82) * f32(packed >> 4);
    const u8* quants = block + 16 + 32 * (group >> 3) + 16 * (group & 1) + 8 * (part & 1);
    i32 shift = group & 6;
    UNROLL for (i32 i = 0; i < 8; i++) out[i] = scale * f32((quants[i] >> shift) & 3) - min;
  }
};

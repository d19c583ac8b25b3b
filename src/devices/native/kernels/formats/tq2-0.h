#pragma once
#include "prelude.h"

struct FileFormat {
  static constexpr i32 ELEMENTS = 256, BYTES = 66, STEP = 8;
  DEVICE void decode(const u8* block, i32 part, f32* out) {
    f32 d = bytes_half(block + 64);
    i32 run = part >> 2;
    const u8* quants = block + 32 * (run >> 2) + 8 * (part & 3);
    UNROLL for (i32 i = 0; i < 8; i++) out[i] = d * f32(((quants[i] >> (2 * (run & 3))) & 3) - 1);
  }
};

#pragma once
#include "prelude.h"

struct FileFormat {
  static constexpr i32 ELEMENTS = 256, BYTES = 210, STEP = 8;
  DEVICE void decode(const u8* block, i32 part, f32* out) {
    i32 group = part >> 1, half = group >> 3, run = (group >> 1) & 3, column = 16 * (group & 1) + 8 * (part & 1);
    f32 scale = bytes_half(block + 208) * f32(i8(block[192 + group]));
    const u8* lows = block + 64 * half + 32 * (run & 1) + column;
    const u8* highs = block + 128 + 32 * half + column;
    UNROLL for (i32 i = 0; i < 8; i++) {
      i32 q = ((lows[i] >> (4 * (run >> 1))) & 15) + 16 * ((highs[i] >> (2 * run)) & 3);
      out[i] = scale * f32(q - 32);
    }
  }
};

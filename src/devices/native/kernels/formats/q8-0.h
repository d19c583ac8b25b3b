#pragma once
#include "prelude.h"

struct FileFormat {
  static constexpr i32 ELEMENTS = 32, BYTES = 34, STEP = 8;
  DEVICE void decode(const u8* block, i32 part, f32* out) {
    f32 d = bytes_half(block);
    UNROLL for (i32 i = 0; i < 8; i++) out[i] = d * f32(i8(block[2 + 8 * part + i]));
  }
};

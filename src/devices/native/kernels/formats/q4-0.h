#pragma once
#include "formats/nibbles.h"

struct FileFormat {
  static constexpr i32 ELEMENTS = 32, BYTES = 18, STEP = 8;
  DEVICE void decode(const u8* block, i32 part, f32* out) {
    f32 d = bytes_half(block);
    UNROLL for (i32 i = 0; i < 8; i++) out[i] = d * f32(i32(nibble_at(block + 2, part, i)) - 8);
  }
};

#pragma once
#include "formats/nibbles.h"

struct FileFormat {
  static constexpr i32 ELEMENTS = 32, BYTES = 22, STEP = 8;
  DEVICE void decode(const u8* block, i32 part, f32* out) {
    f32 d = bytes_half(block);
    u32 fifths = bytes_u32(block + 2) >> (8 * part);
    UNROLL for (i32 i = 0; i < 8; i++) {
      u32 q = nibble_at(block + 6, part, i) | (((fifths >> i) & 1) << 4);
      out[i] = d * f32(i32(q) - 16);
    }
  }
};

#pragma once
#include "formats/nibbles.h"

struct FileFormat {
  static constexpr i32 ELEMENTS = 32, BYTES = 24, STEP = 8;
  DEVICE void decode(const u8* block, i32 part, f32* out) {
    f32 d = bytes_half(block), m = bytes_half(block + 2);
    u32 fifths = bytes_u32(block + 4) >> (8 * part);
    UNROLL for (i32 i = 0; i < 8; i++) {
      u32 q = nibble_at(block + 8, part, i) | (((fifths >> i) & 1) << 4);
      out[i] = d * f32(q) + m;
    }
  }
};

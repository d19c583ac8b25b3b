#pragma once
#include "formats/iq4-levels.h"
#include "formats/nibbles.h"

/// Scale `group` of 8, less 32.
DEVICE i32 scale_iq4(const u8* block, i32 group) {
  u32 low = (block[4 + (group >> 1)] >> (4 * (group & 1))) & 15;
  return i32(low | (((bytes_u16(block + 2) >> (2 * group)) & 3) << 4)) - 32;
}

struct FileFormat {
  static constexpr i32 ELEMENTS = 256, BYTES = 136, STEP = 8;
  DEVICE void decode(const u8* block, i32 part, f32* out) {
    i32 group = part >> 2;
    f32 scale = bytes_half(block) * f32(scale_iq4(block, group));
    UNROLL for (i32 i = 0; i < 8; i++) out[i] = scale * f32(IQ4_LEVELS[nibble_at(block + 8 + 16 * group, part & 3, i)]);
  }
};

#pragma once
#include "prelude.h"

struct FileFormat {
  static constexpr i32 ELEMENTS = 256, BYTES = 54, STEP = 8;
  DEVICE void decode(const u8* block, i32 part, f32* out) {
    f32 d = bytes_half(block + 52);
    UNROLL for (i32 i = 0; i < 8; i++) {
      i32 element = 8 * part + i, from = 0, digit = element;
      if (element < 160) {
        from = element & 31, digit = element >> 5;
      } else if (element < 240) {
        from = 32 + (element & 15), digit = (element - 160) >> 4;
      } else {
        from = 48 + (element & 3), digit = (element - 240) >> 2;
      }
      u32 power = digit == 0 ? 1 : digit == 1 ? 3 : digit == 2 ? 9 : digit == 3 ? 27 : 81;
      u32 fraction = (block[from] * power) & 255;
      out[i] = d * f32(i32((fraction * 3) >> 8) - 1);
    }
  }
};

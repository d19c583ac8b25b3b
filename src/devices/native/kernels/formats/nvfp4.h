#pragma once
#include "formats/fp4.h"

/// Half of an E4M3 number without its sign; the code that would be NaN means zero.
DEVICE f32 half_e4m3(u32 code) {
  if (code == 0x7f) return 0;
  u32 exponent = (code >> 3) & 15, mantissa = code & 7;
  if (exponent == 0) return f32(mantissa) * (1.0f / 1024);
  return bits_as<f32>(((exponent + 119) << 23) | (mantissa << 20));
}

struct FileFormat {
  static constexpr i32 ELEMENTS = 64, BYTES = 36, STEP = 8;
  DEVICE void decode(const u8* block, i32 part, f32* out) {
    i32 group = part >> 1;
    f32 d = half_e4m3(block[group]);
    UNROLL for (i32 i = 0; i < 8; i++) {
      out[i] = d * f32(FP4_DOUBLED[(block[4 + 8 * group + i] >> (4 * (part & 1))) & 15]);
    }
  }
};

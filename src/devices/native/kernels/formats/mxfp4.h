#pragma once
#include "formats/fp4.h"

/// 2^(exponent - 128), subnormal for the two smallest.
DEVICE f32 half_power(u32 exponent) { return bits_as<f32>(exponent < 2 ? 0x00200000u << exponent : (exponent - 1) << 23); }

struct FileFormat {
  static constexpr i32 ELEMENTS = 32, BYTES = 17, STEP = 8;
  DEVICE void decode(const u8* block, i32 part, f32* out) {
    f32 d = half_power(block[0]);
    UNROLL for (i32 i = 0; i < 8; i++) out[i] = d * f32(FP4_DOUBLED[nibble_at(block + 1, part, i)]);
  }
};

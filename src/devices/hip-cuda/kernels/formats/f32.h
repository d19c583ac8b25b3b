#pragma once
#include "prelude.h"

struct FileFormat {
  static constexpr i32 ELEMENTS = 1, BYTES = 4, STEP = 1;
  DEVICE void decode(const u8* at, i32, f32* out) { out[0] = bit_cast<f32>(bytes_u32(at)); }
};

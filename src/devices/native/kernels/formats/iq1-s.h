#pragma once
#include "formats/codebook.h"
#include "formats/codebook-iq1.h"

struct FileFormat {
  static constexpr i32 ELEMENTS = 256, BYTES = 50, STEP = 8;
  DEVICE void decode(const u8* block, i32 part, f32* out) {
    u32 bits = bytes_u16(block + 34 + 2 * (part >> 2));
    f32 scale = bytes_half(block) * f32(2 * ((bits >> 12) & 7) + 1);
    f32 shift = bits & 0x8000 ? -0.125f : 0.125f;
    u64 entry = CODEBOOK[block[2 + part] | (((bits >> (3 * (part & 3))) & 7) << 8)];
    UNROLL for (i32 i = 0; i < 8; i++) out[i] = scale * (f32(i8(entry >> (8 * i))) + shift);
  }
};

#pragma once
#include "formats/codebook.h"
#include "formats/codebook-iq1.h"

struct FileFormat {
  static constexpr i32 ELEMENTS = 256, BYTES = 56, STEP = 8;
  DEVICE void decode(const u8* block, i32 part, f32* out) {
    u32 half = 0;
    UNROLL for (i32 word = 0; word < 4; word++) half |= (block[49 + 2 * word] >> 4) << (4 * word);
    u32 word = bytes_u16(block + 48 + 2 * (part >> 3));
    f32 scale = half_to_float(u16(half)) * f32(2 * ((word >> (3 * ((part >> 1) & 3))) & 7) + 1);
    u32 nibble = (block[32 + (part >> 1)] >> (4 * (part & 1))) & 15;
    f32 shift = nibble & 8 ? -0.125f : 0.125f;
    u64 entry = CODEBOOK[block[part] | ((nibble & 7) << 8)];
    UNROLL for (i32 i = 0; i < 8; i++) out[i] = scale * (f32(i8(entry >> (8 * i))) + shift);
  }
};

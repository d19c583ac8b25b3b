#pragma once
#include "formats/codebook.h"
#include "formats/codebook-iq3-xxs.h"

struct FileFormat {
  static constexpr i32 ELEMENTS = 256, BYTES = 98, STEP = 8;
  DEVICE void decode(const u8* block, i32 part, f32* out) {
    u32 bits = bytes_u32(block + 66 + 4 * (part >> 2));
    f32 scale = bytes_half(block) * (0.5f + f32(bits >> 28)) * 0.5f;
    u32 signs = even_signs((bits >> (7 * (part & 3))) & 127);
    write_signed<4>(out, scale, CODEBOOK[block[2 + 2 * part]], signs);
    write_signed<4>(out + 4, scale, CODEBOOK[block[3 + 2 * part]], signs >> 4);
  }
};

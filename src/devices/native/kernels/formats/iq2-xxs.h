#pragma once
#include "formats/codebook.h"
#include "formats/codebook-iq2-xxs.h"

struct FileFormat {
  static constexpr i32 ELEMENTS = 256, BYTES = 66, STEP = 8;
  DEVICE void decode(const u8* block, i32 part, f32* out) {
    const u8* group = block + 2 + 8 * (part >> 2);
    u32 bits = bytes_u32(group + 4);
    f32 scale = bytes_half(block) * (0.5f + f32(bits >> 28)) * 0.25f;
    write_signed<8>(out, scale, CODEBOOK[group[part & 3]], even_signs((bits >> (7 * (part & 3))) & 127));
  }
};

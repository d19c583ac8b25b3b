#pragma once
#include "formats/codebook.h"
#include "formats/codebook-iq2-s.h"

struct FileFormat {
  static constexpr i32 ELEMENTS = 256, BYTES = 82, STEP = 8;
  DEVICE void decode(const u8* block, i32 part, f32* out) {
    u32 nibble = (block[74 + (part >> 2)] >> (4 * ((part >> 1) & 1))) & 15;
    f32 scale = bytes_half(block) * (0.5f + f32(nibble)) * 0.25f;
    u32 entry = block[2 + part] | (((block[66 + (part >> 2)] >> (2 * (part & 3))) & 3) << 8);
    write_signed<8>(out, scale, CODEBOOK[entry], block[34 + part]);
  }
};

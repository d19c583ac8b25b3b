#pragma once
#include "formats/codebook.h"
#include "formats/codebook-iq2-xs.h"

struct FileFormat {
  static constexpr i32 ELEMENTS = 256, BYTES = 74, STEP = 8;
  DEVICE void decode(const u8* block, i32 part, f32* out) {
    u32 nibble = (block[66 + (part >> 2)] >> (4 * ((part >> 1) & 1))) & 15;
    f32 scale = bytes_half(block) * (0.5f + f32(nibble)) * 0.25f;
    u32 code = bytes_u16(block + 2 + 2 * part);
    write_signed<8>(out, scale, CODEBOOK[code & 511], even_signs(code >> 9));
  }
};

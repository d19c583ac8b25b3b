#pragma once
#include "formats/codebook.h"
#include "formats/codebook-iq3-s.h"

struct FileFormat {
  static constexpr i32 ELEMENTS = 256, BYTES = 110, STEP = 8;
  DEVICE void decode(const u8* block, i32 part, f32* out) {
    i32 group = part >> 2;
    u32 nibble = (block[106 + (group >> 1)] >> (4 * (group & 1))) & 15;
    f32 scale = bytes_half(block) * f32(1 + 2 * nibble);
    u32 ninths = block[66 + group] >> (2 * (part & 3)), signs = block[74 + part];
    write_signed<4>(out, scale, CODEBOOK[block[2 + 2 * part] | ((ninths & 1) << 8)], signs);
    write_signed<4>(out + 4, scale, CODEBOOK[block[3 + 2 * part] | ((ninths & 2) << 7)], signs >> 4);
  }
};

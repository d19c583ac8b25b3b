// Four nibbles in the bytes of a word to the levels of IQ4, by bytes chosen out of registers.
#pragma once
#include "prelude.h"

/// `CHOOSE_BYTES` looks at three bits of a selector's nibble, so that the fourth bit chooses between two tables.
DEVICE u32 iq4_levels(u32 quad) {
  u32 selector = (quad & 7) | ((quad >> 4) & 0x70) | ((quad >> 8) & 0x700) | ((quad >> 12) & 0x7000);
  u32 low = choose_bytes(0xbfad9881u, 0xf6eaddcfu, selector), high = choose_bytes(0x26190d01u, 0x71594535u, selector);
  u32 upper = ((quad >> 3) & 0x01010101) * 255;
  return (low & ~upper) | (high & upper);
}

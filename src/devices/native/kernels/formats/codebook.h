// Entries of the IQ formats' codebooks: 8 signed bytes, or 4, in a word. The generated file `codebook-*.h` defines CODEBOOK.
#pragma once
#include "prelude.h"

/// Eight sign bits from seven: the number of minus signs is even.
DEVICE u32 even_signs(u32 seven) {
  u32 parity = seven ^ (seven >> 4);
  parity ^= parity >> 2;
  parity ^= parity >> 1;
  return seven | ((parity & 1) << 7);
}

/// `count` levels of an entry times `scale`, negated where `signs` has a bit.
template <i32 count, class Entry>
DEVICE void write_signed(f32* out, f32 scale, Entry entry, u32 signs) {
  UNROLL for (i32 i = 0; i < count; i++) {
    f32 value = scale * f32(i8(entry >> (8 * i)));
    out[i] = (signs >> i) & 1 ? -value : value;
  }
}

// Activations in 8 bits: a group of 32 elements is 32 signed bytes and a scale of max / 127; a matrix is its rows' bytes,
// then their scales. The sums of both halves of a group let a weight's offset or min be applied once a group.
#pragma once
#include "reduce.h"

struct alignas(8) GroupScale {
  f32 d;
  i16 low, high;
};

DEVICE u64 quantized_bytes(i32 rows, i32 groups) { return u64(rows) * groups * 32; }

/// Quantizes eight elements of a group whose other elements lie in the neighbouring lanes of four; gives two quads and, in
/// every lane, the group's scale.
DEVICE GroupScale quantize_eight(const f32* values, u32* quads) {
  f32 largest = 0;
  UNROLL for (i32 i = 0; i < 8; i++) largest = max_of(largest, values[i] < 0 ? -values[i] : values[i]);
  largest = max_of(largest, shuffle_xor(largest, 1));
  largest = max_of(largest, shuffle_xor(largest, 2));
  f32 d = largest / 127.0f, inverse = d > 0 ? 1.0f / d : 0.0f;
  i32 sum = 0;
  UNROLL for (i32 q = 0; q < 2; q++) {
    quads[q] = 0;
    UNROLL for (i32 i = 0; i < 4; i++) {
      i32 level = i32(round_even(values[4 * q + i] * inverse));
      sum += level;
      quads[q] |= (u32(level) & 255) << (8 * i);
    }
  }
  sum += shuffle_xor(sum, 1);
  i32 other = shuffle_xor(sum, 2);
  bool second = lane() & 2;
  return {d, i16(second ? other : sum), i16(second ? sum : other)};
}

/// Quantizes a group whose elements lie in a warp's lanes.
DEVICE void quantize_warp(f32 value, u8* out, i64 group, GroupScale* scales) {
  f32 largest = warp_max(value < 0 ? -value : value), d = largest / 127.0f, inverse = d > 0 ? 1.0f / d : 0.0f;
  i32 level = i32(round_even(value * inverse)), sum = level;
  u32 word = (u32(level) & 255) << (8 * (lane() & 3));
  word |= shuffle_xor(word, 1);
  word |= shuffle_xor(word, 2);
  UNROLL for (i32 step = 8; step > 0; step >>= 1) sum += shuffle_xor(sum, step);
  i32 other = shuffle_xor(sum, 16);
  if ((lane() & 3) == 0) reinterpret_cast<u32*>(out)[group * 8 + (lane() >> 2)] = word;
  if (lane() == 0) scales[group] = {d, i16(sum), i16(other)};
}

// Caches whose keys and values are decoded each by a type of their own:
//
//   0 f32   1 f16   2 q8_0   3 q4_0   4 q5_1, as `STATE_BLOCKS` lays them out: the quants of all blocks of 32 elements, then what
//   scales them
#pragma once
#include "prelude.h"

typedef u8 CacheElement;

/// Bytes of a block in each plane; those that are not quantized have one plane.
template <i32 TYPE>
struct CacheBlock {
  static constexpr i32 BYTES = TYPE == 0 ? 128 : TYPE == 1 ? 64 : TYPE == 2 ? 32 : 16;
  static constexpr i32 SCALE_BYTES = TYPE < 2 ? 0 : TYPE == 4 ? 8 : 2;
};

/// Takes eight elements from a multiple of eight on, of a cache of so many blocks.
template <i32 TYPE>
DEVICE void load_eight(const CacheElement* cache, i64 blocks, i64 first, f32* out) {
  constexpr i32 BYTES = CacheBlock<TYPE>::BYTES, SCALE_BYTES = CacheBlock<TYPE>::SCALE_BYTES;
  i64 block = first / 32;
  i32 inside = i32(first % 32);
  const u8* at = cache + block * BYTES + inside * BYTES / 32;
  [[maybe_unused]] const u16* scales = reinterpret_cast<const u16*>(cache + blocks * BYTES + block * SCALE_BYTES);
  if (TYPE == 0) {
    const f32x4* four = reinterpret_cast<const f32x4*>(at);
    f32x4 low = four[0], high = four[1];
    out[0] = low.x, out[1] = low.y, out[2] = low.z, out[3] = low.w;
    out[4] = high.x, out[5] = high.y, out[6] = high.z, out[7] = high.w;
  } else if (TYPE == 1) {
    u32x4 pairs = *reinterpret_cast<const u32x4*>(at);
    u32 words[4] = {pairs.x, pairs.y, pairs.z, pairs.w};
    UNROLL for (i32 i = 0; i < 8; i++) out[i] = half_to_float(u16(words[i / 2] >> (16 * (i % 2))));
  } else if (TYPE == 2) {
    u32x2 quants = *reinterpret_cast<const u32x2*>(at);
    f32 scale = half_to_float(scales[0]);
    UNROLL for (i32 i = 0; i < 8; i++) out[i] = scale * f32(i8((i < 4 ? quants.x : quants.y) >> (8 * (i % 4))));
  } else {
    u32 quants = *reinterpret_cast<const u32*>(at);
    f32 scale = half_to_float(scales[0]);
    u32 fifths = TYPE == 4 ? reinterpret_cast<const u32*>(scales)[1] >> inside : 0;
    f32 offset = TYPE == 4 ? half_to_float(scales[1]) : -8.0f * scale;
    UNROLL for (i32 i = 0; i < 8; i++) {
      u32 level = ((quants >> (4 * i)) & 15) | (((fifths >> i) & 1) << 4);
      out[i] = fused_multiply_add(f32(level), scale, offset);
    }
  }
}

/// A level of the value, halves away from zero.
DEVICE i32 nearest_level(f32 value, f32 inverse) {
  f32 scaled = value * inverse;
  i32 whole = i32(scaled);
  f32 rest = scaled - f32(whole);
  return whole + i32(rest + rest);
}

/// Eight neighbouring lanes' levels of four bits as a word, in each of the lanes.
DEVICE u32 nibbles_of(i32 level) {
  u32 word = (u32(level) & 15) << (4 * (lane() % 8));
  UNROLL for (i32 step = 1; step < 8; step <<= 1) word |= shuffle_xor(word, step);
  return word;
}

constexpr u16 INFINITE_HALF = 0x7c00, NAN_HALF = 0x7e00, HALF_SIZE = 0x7fff;

/// The blocks' level: those of q4_0 count from 8.
DEVICE void store_four_bits(u8* quants, u16* scale, u32 top, f32 value) {
  // The first lane with the largest magnitude says the sign.
  u32 own = bit_cast<u32>(value);
  i32 first = (own & 0x7fffffffu) == top ? lane() % 32 : 32;
  UNROLL for (i32 step = 16; step > 0; step >>= 1) first = min_of(first, i32(shuffle_xor(u32(first), step)));
  u32 negative = lane() % 32 == first ? own >> 31 : 0;
  UNROLL for (i32 step = 16; step > 0; step >>= 1) negative |= shuffle_xor(negative, step);
  f32 d = bit_cast<f32>(top) * (negative ? 0.125f : -0.125f);
  u16 bits = float_to_half(d), size = bits & HALF_SIZE;
  bool plain = size > 0 && size < INFINITE_HALF;
  i32 level = plain ? min_of(15, nearest_level(value, 1.0f / d) + 8) : 8;
  u32 word = nibbles_of(level);
  if (lane() % 8 == 0) reinterpret_cast<u32*>(quants)[lane() % 32 / 8] = word;
  if (lane() % 32 == 0) *scale = size >= INFINITE_HALF ? NAN_HALF : size == 0 ? u16(0) : bits;
}

DEVICE void store_five_bits(u8* quants, u16* scale, u32 top, f32 value) {
  f32 least = value, most = value;
  UNROLL for (i32 step = 16; step > 0; step >>= 1) {
    least = min_of(least, shuffle_xor(least, step));
    most = max_of(most, shuffle_xor(most, step));
  }
  // A zero has no sign.
  if (least == 0) least = 0;
  f32 d = (most - least) / 31.0f;
  u16 bits = float_to_half(d), offset = float_to_half(least);
  bool number = top < 0x7f800000u && bits < INFINITE_HALF && (offset & HALF_SIZE) < INFINITE_HALF;
  i32 level = number && bits > 0 ? min_of(31, nearest_level(value - least, 1.0f / d)) : 0;
  u32 word = nibbles_of(level), fifths = (u32(level) >> 4) << (lane() % 32);
  UNROLL for (i32 step = 16; step > 0; step >>= 1) fifths |= shuffle_xor(fifths, step);
  if (lane() % 8 == 0) reinterpret_cast<u32*>(quants)[lane() % 32 / 8] = word;
  if (lane() % 32 != 0) return;
  scale[0] = number ? bits : NAN_HALF;
  scale[1] = number ? offset : NAN_HALF;
  reinterpret_cast<u32*>(scale)[1] = fifths;
}

DEVICE void store_eight_bits(u8* quants, u16* scale, u32 top, f32 value) {
  f32 d = bit_cast<f32>(top) / 127.0f;
  u16 bits = float_to_half(d);
  bool plain = bits > 0 && bits < INFINITE_HALF;
  quants[lane() % 32] = u8(plain ? nearest_level(value, 1.0f / d) : 0);
  if (lane() % 32 == 0) *scale = bits < INFINITE_HALF ? bits : NAN_HALF;
}

/// Stores element `i` of a cell; 32 lanes hold the elements of a block, in order. Magnitudes are compared as integers, in which
/// NaN is the largest.
template <i32 TYPE>
DEVICE void store_cached(CacheElement* cache, i32 cells, i64 cell, i32 width, i32 i, f32 value) {
  i64 at = cell * width + i, block = at / 32, blocks = i64(cells) * width / 32;
  if (TYPE == 0) reinterpret_cast<f32*>(cache)[at] = value;
  if (TYPE == 1) reinterpret_cast<u16*>(cache)[at] = float_to_half(value);
  if (TYPE < 2) return;
  u32 top = bit_cast<u32>(value) & 0x7fffffffu;
  UNROLL for (i32 step = 16; step > 0; step >>= 1) top = max_of(top, shuffle_xor(top, step));
  u8* quants = cache + block * CacheBlock<TYPE>::BYTES;
  u16* scale = reinterpret_cast<u16*>(cache + blocks * CacheBlock<TYPE>::BYTES + block * CacheBlock<TYPE>::SCALE_BYTES);
  if (TYPE == 2) store_eight_bits(quants, scale, top, value);
  if (TYPE == 3) store_four_bits(quants, scale, top, value);
  if (TYPE == 4) store_five_bits(quants, scale, top, value);
}

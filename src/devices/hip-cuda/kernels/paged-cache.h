// Where a sequence's position lies in a paged cache, and the cache's elements.
//
//   CACHE   0 f32   1 f16   2 blocks of 32 signed bytes, after all of which f16 values stand as their scales
//           3 keys and values are of types of their own, KEYS_AS and VALUES_AS of `cache-types.h`
#pragma once
#include "prelude.h"

DEVICE i64 cell_of(const i32* blocks, i32 blocks_per_slot, i32 block_size, i32 slot, i32 position) {
  i32 block = blocks[i64(slot) * blocks_per_slot + position / block_size];
  return i64(block) * block_size + position % block_size;
}

#ifndef PLACES
#define PLACES 1
#endif

/// In all lanes of a warp: whether no other of a step's `rows`, of which there are no more than lanes, is of the row's sequence. Then steps before
/// have cached all positions before the row's.
DEVICE bool is_only_row(const i32* slots, i32 rows, i32 row) {
  i32 other = i32(lane());
  u32 same = other < rows && other != row && slots[other * PLACES] == slots[row * PLACES] ? 1 : 0;
  UNROLL for (i32 step = LANES / 2; step > 0; step >>= 1) same |= shuffle_xor(same, step);
  return same == 0;
}

/// What finds the scales of a cache: nothing, their address, or the number of blocks before them.
#if CACHE == 3
#include "cache-types.h"
typedef i64 ScalePlane;
DEVICE ScalePlane scale_plane(const CacheElement*, i32 cells, i32 width) { return i64(cells) * width / 32; }
#else
#define KEYS_AS 0
#define VALUES_AS 0
typedef const u16* ScalePlane;
#endif

#if CACHE == 2
typedef i8 CacheElement;
/// An element without its scale.
DEVICE f32 from_cache(CacheElement stored) { return f32(stored); }

/// The scales of all blocks, in the blocks' order.
DEVICE ScalePlane scale_plane(const CacheElement* cache, i32 cells, i32 width) {
  return reinterpret_cast<const u16*>(cache + i64(cells) * width);
}

/// Stores element `i` of a cell; a warp's lanes hold the 32 elements of a block, in order. The roundings are those of ggml's
/// `quantize_row_q8_0_ref`; magnitudes are compared as integers, in which NaN is the largest.
template <i32 = 0>
DEVICE void store_cached(CacheElement* cache, i32 cells, i64 cell, i32 width, i32 i, f32 value) {
  constexpr u16 INFINITE = 0x7c00, NOT_A_NUMBER = 0x7e00;
  u32 top = bit_cast<u32>(value) & 0x7fffffffu;
  UNROLL for (i32 step = 16; step > 0; step >>= 1) top = max_of(top, shuffle_xor(top, step));
  f32 d = bit_cast<f32>(top) / 127.0f;
  u16 scale = float_to_half(d);
  i32 level = 0;
  if (scale > 0 && scale < INFINITE) {
    f32 scaled = value * (1.0f / d);
    i32 whole = i32(scaled);
    f32 rest = scaled - f32(whole);
    level = whole + i32(rest + rest);
  }
  i64 at = cell * width + i;
  cache[at] = CacheElement(level);
  if (lane() == 0) const_cast<u16*>(scale_plane(cache, cells, width))[at >> 5] = scale < INFINITE ? scale : NOT_A_NUMBER;
}
#elif CACHE != 3
#if CACHE == 1
typedef u16 CacheElement;
DEVICE CacheElement to_cache(f32 value) { return float_to_half(value); }
DEVICE f32 from_cache(CacheElement stored) { return half_to_float(stored); }
#else
typedef f32 CacheElement;
DEVICE CacheElement to_cache(f32 value) { return value; }
DEVICE f32 from_cache(CacheElement stored) { return stored; }
#endif

DEVICE ScalePlane scale_plane(const CacheElement*, i32, i32) { return nullptr; }

/// Stores element `i` of a cell of `width`.
template <i32 = 0>
DEVICE void store_cached(CacheElement* cache, i32 cells, i64 cell, i32 width, i32 i, f32 value) {
  cache[cell * width + i] = to_cache(value);
}
#endif

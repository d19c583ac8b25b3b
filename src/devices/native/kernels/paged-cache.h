// Where a sequence's position lies in a paged cache, and the cache's elements.
#pragma once
#include "prelude.h"

DEVICE i64 cell_of(const i32* blocks, i32 blocks_per_slot, i32 block_size, i32 slot, i32 position) {
  i32 block = blocks[i64(slot) * blocks_per_slot + position / block_size];
  return i64(block) * block_size + position % block_size;
}

#if CACHE_HALF
typedef u16 CacheElement;
DEVICE CacheElement to_cache(f32 value) { return float_to_half(value); }
DEVICE f32 from_cache(CacheElement stored) { return half_to_float(stored); }
#else
typedef f32 CacheElement;
DEVICE CacheElement to_cache(f32 value) { return value; }
DEVICE f32 from_cache(CacheElement stored) { return stored; }
#endif

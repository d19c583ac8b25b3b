// What kernels that compute attention in tiles of KEYS positions on the matrix cores share: a wave's queries, fragments of shared
// tiles, and where a key head's cells are. THREADS are those of a block.
#pragma once
#include "attention-scores.h"
#include "cache-octets.h"
#include "functions.h"
#include "results.h"
#include "matrix.h"

/// Elements from one head's values to the next one's.
#if LATENT
#define VALUE_STRIDE KEY
#else
#define VALUE_STRIDE VALUE
#endif

/// Octets from one line of a shared tile to the next: no bank conflicts between neighbouring lines.
// A macro, because the compilers do not agree on the side that a function for constants belongs to.
#define LINE_OCTETS(size) (((size) / 8 + 3) / 8 * 8 + 4)

/// The first row of a block, negative where there is none: last rows come first, for all heads, because they see most, and a long
/// block that begins last would end alone.
DEVICE i32 block_row_of(i32 used, i32 rows) { return used > 0 ? ((used - 1) / rows - i32(block_y())) * rows : -1; }

/// Sixteen lines of a shared tile, of 32 values of k.
template <i32 LINE>
DEVICE Fragment load_fragment(const u32x4* tile, i32 first, i32 step) {
  Fragment fragment;
  UNROLL for (i32 l = 0; l < MATRIX_LINES; l++) {
    UNROLL for (i32 t = 0; t < FRAGMENT_OCTETS; t++) {
      fragment.at[l][t] = tile[(first + matrix_line(l)) * LINE + 4 * step + matrix_part() * FRAGMENT_OCTETS + t];
    }
  }
  return fragment;
}

/// The wave's queries, scaled.
DEVICE Fragment load_queries(const f32* q, i64 width, i32 first, i32 last, i32 step, const f32* scales) {
  Fragment fragment;
  UNROLL for (i32 l = 0; l < MATRIX_LINES; l++) {
    const f32* row = q + min_of(first + matrix_line(l), last) * width;
    f32 scale = scales[l];
    UNROLL for (i32 t = 0; t < FRAGMENT_OCTETS; t++) {
      const f32* from = row + 32 * step + 8 * (matrix_part() * FRAGMENT_OCTETS + t);
      f32x4 low = reinterpret_cast<const f32x4*>(from)[0], high = reinterpret_cast<const f32x4*>(from)[1];
      auto pair = [&](f32 a, f32 b) { return pack_half2(clamp_half(a * scale), clamp_half(b * scale)); };
      fragment.at[l][t] = {pair(low.x, low.y), pair(low.z, low.w), pair(high.x, high.y), pair(high.z, high.w)};
    }
  }
  return fragment;
}

/// The cache of one key head.
struct Cache {
  const i32* blocks;
  i32 blocks_per_slot, block_size, kv_heads, kv_head;
  const CacheElement *keys, *values;
  ScalePlane key_scales, value_scales;

  /// Records the key head's places in the cells of the positions from `first` on; positions beyond the last one repeat it.
  DEVICE_MEMBER void find(i64* found, i32 slot, i32 first, i32 last) const {
    for (i32 i = thread(); i < KEYS; i += THREADS) {
      found[i] = cell_of(blocks, blocks_per_slot, block_size, slot, min_of(first + i, last)) * kv_heads + kv_head;
    }
  }
};

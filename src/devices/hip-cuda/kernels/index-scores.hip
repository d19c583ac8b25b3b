// Scores of positions by an indexer's heads: a block takes a row and as many positions as it has threads, a thread one of them. The
// queries of HEADS_TOGETHER heads at a time stand in shared memory; every thread multiplies its key by each of them.
//
//   HEADS, SIZE   of the indexer      VECTOR   elements of a key that are loaded at once
//   BY_HEAD       1 where each head has scores of its own, and there are no weights
#include "paged-cache.h"

#define THREADS 128

struct alignas(sizeof(CacheElement) * VECTOR) KeyVector {
  CacheElement at[VECTOR];
};

/// `out` gets a row of `width` scores, or one for each head; they are 0 behind the row's own position.
KERNEL(index_scores, THREADS, const i32* count, const f32* q, [[maybe_unused]] const f32* weights, const i32* slots, const i32* positions,
       const i32* blocks, i32 blocks_per_slot, i32 block_size, [[maybe_unused]] i32 cells, const CacheElement* keys, f32* out, i32 width) {
  SHARED f32 queries[HEADS_TOGETHER * SIZE];
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  i32 row = block_x();
  if (row >= used) return;
  i32 first_position = i32(block_y()) * THREADS, position = first_position + thread(), last = positions[row];
  constexpr i32 LINES = BY_HEAD ? HEADS : 1;
  f32* line = out + i64(row) * LINES * width;
  if (first_position > last) {
    for (i32 l = 0; l < LINES; l++) {
      if (position < width) line[i64(l) * width + position] = 0;
    }
    return;
  }
  i64 cell = cell_of(blocks, blocks_per_slot, block_size, slots[row], min_of(position, last));
  const CacheElement* key = keys + cell * SIZE;
#if CACHE == 2
  const u16* scales = scale_plane(keys, cells, SIZE) + cell * (SIZE / 32);
#endif
  [[maybe_unused]] f32 score = 0;
  for (i32 first = 0; first < HEADS; first += HEADS_TOGETHER) {
    i32 heads = min_of(HEADS_TOGETHER, HEADS - first);
    const f32* from = q + (i64(row) * HEADS + first) * SIZE;
    barrier();
    for (i32 i = thread(); i < HEADS_TOGETHER * SIZE; i += THREADS) queries[i] = i < heads * SIZE ? from[i] : 0.0f;
    barrier();
    f32 products[HEADS_TOGETHER] = {};
    for (i32 at = 0; at < SIZE; at += VECTOR) {
      KeyVector stored = *reinterpret_cast<const KeyVector*>(key + at);
      f32 elements[VECTOR];
      UNROLL for (i32 i = 0; i < VECTOR; i++) elements[i] = from_cache(stored.at[i]);
#if CACHE == 2
      f32 scale = half_to_float(scales[at / 32]);
      UNROLL for (i32 i = 0; i < VECTOR; i++) elements[i] *= scale;
#endif
      UNROLL for (i32 h = 0; h < HEADS_TOGETHER; h++) {
        UNROLL for (i32 i = 0; i < VECTOR; i++) {
          products[h] = fused_multiply_add(queries[h * SIZE + at + i], elements[i], products[h]);
        }
      }
    }
    UNROLL for (i32 h = 0; h < HEADS_TOGETHER; h++) {
#if BY_HEAD
      if (h < heads && position < width) line[i64(first + h) * width + position] = position <= last ? products[h] : 0.0f;
#else
      f32 weight = h < heads ? weights[i64(row) * HEADS + first + h] : 0.0f;
      score = fused_multiply_add(weight, max_of(products[h], 0.0f), score);
#endif
    }
  }
#if !BY_HEAD
  if (position < width) line[position] = position <= last ? score : 0.0f;
#endif
}

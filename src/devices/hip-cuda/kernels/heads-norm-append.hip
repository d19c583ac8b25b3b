// Queries, keys and values of a row, a head a block: heads of queries and keys are RMS-normed and rotated by the rope table, keys
// and values appended to the cache; and the counters are zeroed by which attention's blocks find out who is last.
#include "paged-cache.h"
#include "reduce.h"

#define THREADS 128
#define WARPS 4

/// A head's values, scaled by the root of their mean square and by weight.
DEVICE void normalize(f32* values, const f32* from, const f32* weight, i32 size, f32 epsilon, f32* sums) {
  f32 square = 0;
  for (i32 i = thread(); i < size; i += THREADS) square += from[i] * from[i];
  f32 scale = 1.0f / square_root(block_sum<WARPS>(square, sums) / f32(size) + epsilon);
  for (i32 i = thread(); i < size; i += THREADS) values[i] = from[i] * scale * weight[i];
  barrier();
}

/// Element `i` of a head, rotated.
DEVICE f32 rotate(const f32* values, const f32* table, i32 i, i32 rotary_dim, i32 interleaved) {
  if (i >= rotary_dim) return values[i];
  i32 half = rotary_dim / 2, pair = interleaved ? i >> 1 : i >= half ? i - half : i;
  bool second = interleaved ? i & 1 : i >= half;
  f32 partner = values[interleaved ? i ^ 1 : second ? i - half : i + half];
  f32 cosine = table[2 * pair], sine = table[2 * pair + 1];
  return second ? partner * sine + values[i] * cosine : values[i] * cosine - partner * sine;
}

/// Rows of queries, keys and values begin `*_stride` values apart. Block y counts heads of queries, of keys, of values.
KERNEL(heads_norm_append, THREADS, const i32* count, const f32* queries, i32 query_stride, const f32* own_keys, i32 key_stride,
       const f32* own_values, i32 value_stride, i32 query_start, i32 key_start, i32 value_start, const f32* q_norm,
       const f32* k_norm, f32 query_epsilon, f32 key_epsilon, const f32* table, i32 rotary_dim, i32 interleaved, i32 head_size,
       i32 value_size, i32 heads, i32 kv_heads, const i32* slots, const i32* positions, const i32* blocks, i32 blocks_per_slot,
       i32 block_size, i32 cells, f32* q, CacheElement* keys, CacheElement* values, u32* arrivals, i32 arrival_count) {
  SHARED f32 head[HEAD_SIZE];
  SHARED f32 sums[WARPS];
  i32 used = *count, row = block_x(), part = block_y();
  // Where the row goes is known before its values are.
  i64 cell = row < used && part >= heads ? cell_of(blocks, blocks_per_slot, block_size, slots[row], positions[row]) : 0;
  grid_launch_dependents();
  grid_dependency_wait();
  if (row == 0 && part == 0) {
    for (i32 i = thread(); i < arrival_count; i += THREADS) arrivals[i] = 0;
  }
  if (row >= used) return;
  const f32* angles = table + i64(row) * rotary_dim;
  if (part < heads) {
    const f32* from = queries + i64(row) * query_stride + query_start + part * head_size;
    normalize(head, from, q_norm, head_size, query_epsilon, sums);
    f32* to = q + (i64(row) * heads + part) * head_size;
    for (i32 i = thread(); i < head_size; i += THREADS) to[i] = rotate(head, angles, i, rotary_dim, interleaved);
    return;
  }
  part -= heads;
  if (part < kv_heads) {
    const f32* from = own_keys + i64(row) * key_stride + key_start + part * head_size;
    normalize(head, from, k_norm, head_size, key_epsilon, sums);
    for (i32 i = thread(); i < head_size; i += THREADS) {
      f32 value = rotate(head, angles, i, rotary_dim, interleaved);
      store_cached(keys, cells, cell, kv_heads * head_size, part * head_size + i, value);
    }
    return;
  }
  part -= kv_heads;
  const f32* from = own_values + i64(row) * value_stride + value_start + part * value_size;
  for (i32 i = thread(); i < value_size; i += THREADS) {
    store_cached(values, cells, cell, kv_heads * value_size, part * value_size + i, from[i]);
  }
}

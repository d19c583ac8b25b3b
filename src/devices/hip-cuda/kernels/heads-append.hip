// Joined rows of queries, keys and values: rotates queries and keys by the rope table, appends keys and values to the cache; and
// zeroes the counters by which attention's blocks find out who is last. A thread takes VALUES_PER_THREAD values. There may be PIECES of
// the rows, each `apart` numbers behind the one before, which are added up, with biases if there are any.
#include "paged-cache.h"

KERNEL(heads_append, 256, const i32* count, const f32* joined, i32 apart, const f32* biases, const f32* table, i32 rotary_dim, i32 interleaved, i32 head_size,
       i32 q_width, i32 k_width, i32 v_width, const i32* slots, const i32* positions, const i32* blocks, i32 blocks_per_slot,
       i32 block_size, i32 cells, f32* q, CacheElement* keys, CacheElement* values, u32* arrivals, i32 arrival_count) {
  i32 used = *count, row = block_x();
  // Where the row goes is known before its values are.
  i64 cell = row < used ? cell_of(blocks, blocks_per_slot, block_size, slots[row], positions[row]) : 0;
  grid_launch_dependents();
  grid_dependency_wait();
  if (block_x() == 0 && block_y() == 0) {
    for (i32 i = thread(); i < arrival_count; i += 256) arrivals[i] = 0;
  }
  i32 width = q_width + k_width + v_width;
  if (row >= used) return;
  auto value_at = [&](i32 n) {
    const f32* from = joined + i64(row) * width + n;
    f32 value = *from;
    UNROLL for (i32 piece = 1; piece < PIECES; piece++) value += from[i64(piece) * apart];
    return PIECES > 1 && biases ? value + biases[n] : value;
  };
  i32 half = rotary_dim / 2;
  // Several values a thread, so that their loads are in flight together.
  UNROLL for (i32 k = 0; k < VALUES_PER_THREAD; k++) {
    i32 n = (block_y() * VALUES_PER_THREAD + k) * 256 + thread();
    if (n >= width) return;
    f32 value = value_at(n);
    i32 in_head = n % head_size;
    if (n < q_width + k_width && in_head < rotary_dim) {
      i32 pair = interleaved ? in_head >> 1 : in_head >= half ? in_head - half : in_head;
      bool second = interleaved ? in_head & 1 : in_head >= half;
      f32 partner = value_at(interleaved ? n ^ 1 : second ? n - half : n + half);
      f32 cosine = table[i64(row) * rotary_dim + 2 * pair], sine = table[i64(row) * rotary_dim + 2 * pair + 1];
      value = second ? partner * sine + value * cosine : value * cosine - partner * sine;
    }
    if (n < q_width) {
      q[i64(row) * q_width + n] = value;
    } else if (n < q_width + k_width) {
      store_cached(keys, cells, cell, k_width, n - q_width, value);
    } else {
      store_cached(values, cells, cell, v_width, n - q_width - k_width, value);
    }
  }
}

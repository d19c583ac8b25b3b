// A row's blocks write its keys and values to its cell.
#include "paged-cache.h"

KERNEL(kv_append, 256, const i32* count, const i32* slots, const i32* positions, const i32* blocks, i32 blocks_per_slot,
                      i32 block_size, i32 cells, const f32* k, i32 k_width, const f32* v, i32 v_width, CacheElement* keys,
                      CacheElement* values) {
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  i32 row = block_x(), i = block_y() * 256 + thread();
  if (row >= used || positions[row] < 0) return;
  i64 cell = cell_of(blocks, blocks_per_slot, block_size, slots[row], positions[row]);
  if (i < k_width) store_cached<KEYS_AS>(keys, cells, cell, k_width, i, k[i64(row) * k_width + i]);
  if (i < v_width) store_cached<VALUES_AS>(values, cells, cell, v_width, i, v[i64(row) * v_width + i]);
}

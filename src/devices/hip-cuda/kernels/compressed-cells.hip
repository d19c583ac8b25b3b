// Cells that stand for several positions each, in the blocks of the keys of their last positions.
#include "functions.h"

KERNEL(cell_places, 64, const i32* count, const i32* positions, i32* own, i32* cell, i32* index, i32* last, i32* start, i32 ratio,
       i32 block_size, i32 cells) {
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  i32 row = block_x() * 64 + thread();
  if (row >= used) return;
  i32 position = positions[row], block = position / block_size, within = position % block_size;
  bool completes = (position + 1) % ratio == 0;
  own[row] = block * (block_size + cells) + within;
  cell[row] = completes ? block * (block_size + cells) + block_size + within / ratio : -1;
  index[row] = completes ? block * cells + within / ratio : -1;
  last[row] = (position + 1) / ratio - 1;
  start[row] = position - position % ratio;
}

/// An element of a cell a thread: the mean of its positions' values by the softmax of their scores.
KERNEL(compress_cells, 128, const i32* count, const i32* slots, const i32* positions, const i32* blocks, i32 blocks_per_slot,
       i32 block_size, const f32* values, const f32* scores, const f32* bias, f32* out, i32 width, i32 ratio, i32 overlaps) {
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  i32 row = block_x(), i = block_y() * 128 + thread();
  if (row >= used || i >= width) return;
  i32 position = positions[row], kept = overlaps ? 2 * width : width;
  if ((position + 1) % ratio != 0) {
    out[i64(row) * width + i] = 0;
    return;
  }
  const i32* own_blocks = blocks + i64(slots[row]) * blocks_per_slot;
  i32 first = position + 1 - ratio * (overlaps && position >= ratio ? 2 : 1);
  auto element = [&](i32 p) { return overlaps && p > position - ratio ? width + i : i; };
  auto score = [&](i32 p) {
    i64 cell = i64(own_blocks[p / block_size]) * block_size + p % block_size;
    return scores[cell * kept + element(p)] + bias[i64(p % ratio) * kept + element(p)];
  };
  f32 largest = score(first);
  for (i32 p = first + 1; p <= position; p++) largest = max_of(largest, score(p));
  f32 sum = 0, mean = 0;
  for (i32 p = first; p <= position; p++) {
    i64 cell = i64(own_blocks[p / block_size]) * block_size + p % block_size;
    f32 weight = exponential(score(p) - largest);
    sum += weight;
    mean = fused_multiply_add(weight, values[cell * kept + element(p)], mean);
  }
  out[i64(row) * width + i] = mean / sum;
}

/// A row's table: the positions of its window, then complete cells, the first or those that were chosen (`chosen` may be null).
KERNEL(join_cells, 128, const i32* count, const i32* slots, const i32* positions, const i32* blocks, i32 blocks_per_slot,
       i32 block_size, const i32* chosen, i32* cells, i32* places, i32* limits, i32 ratio, i32 cells_per_block, i32 window, i32 most) {
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  i32 row = block_x();
  if (row >= used) return;
  i32 seen = positions[row] + 1, near = min_of(window, seen), far = min_of(most, seen / ratio);
  const i32* own_blocks = blocks + i64(slots[row]) * blocks_per_slot;
  i32 all = block_size + cells_per_block;
  if (thread() == 0) places[row] = row, limits[row] = near + far - 1;
  for (i32 i = thread(); i < window + most; i += 128) {
    i32 place = 0;
    if (i < near) {
      i32 position = seen - near + i;
      place = own_blocks[position / block_size] * all + position % block_size;
    } else if (i < near + far) {
      i32 position = (i - near + 1) * ratio - 1;
      i32 block = own_blocks[position / block_size], cell = position % block_size / ratio;
      if (chosen) {
        i32 found = chosen[i64(row) * most + i - near];
        block = found / cells_per_block, cell = found % cells_per_block;
      }
      place = block * all + block_size + cell;
    }
    cells[i64(row) * (window + most) + i] = place;
  }
}

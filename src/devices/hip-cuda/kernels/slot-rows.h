// How recurrences find the rows of their slot, and share a row of a matrix among threads.
//
//   BY_ROW  there are fewer rows than slots: a block takes the slot of a row, if that is the slot's first one
#pragma once
#include "reduce.h"

/// Where a block finds the rows of its slot: among those from `first` to before `end`; nowhere if these are alike.
struct SlotRows {
  i32 slot, first, end;
};

/// Of the slot that blocks with this `block_y` take; `slot_rows` has two numbers for each slot.
DEVICE SlotRows rows_of_block(const i32* count, const i32* slots, const i32* slot_rows) {
  i32 row = i32(block_y());
  if (BY_ROW && row >= *count) return {0, 0, 0};
  i32 slot = BY_ROW ? slots[row] : row, first = slot_rows[2 * slot], end = slot_rows[2 * slot + 1];
  return {slot, first, BY_ROW && first != row ? first : end};
}

/// Rows from `first` on that a slot has together; none of them begins a sequence but the first.
struct Chunk {
  i32 first, count;
  bool begins;
};

/// How many rows from `at` on a chunk of at most MAX_ROWS has: a lane looks at each.
template <i32 MAX_ROWS>
DEVICE i32 rows_together(i32 at, i32 rows, i32 slot, const i32* slots, const i32* positions) {
  i32 t = i32(lane()) % MAX_ROWS, row = at + t;
  bool belongs = row < rows && slots[row] == slot && (t == 0 || positions[row] != 0);
  return -warp_max(belongs ? -MAX_ROWS : -t);
}

/// The slot's next rows from `at` on, none where there are no more.
template <i32 MAX_ROWS>
DEVICE Chunk next_chunk(i32 at, i32 rows, i32 slot, const i32* slots, const i32* positions) {
  i32 count = rows_together<MAX_ROWS>(at, rows, slot, slots, positions);
  while (count == 0 && at < rows) {
    i32 row = at + i32(lane());
    at += -warp_max(row < rows && slots[row] == slot ? -i32(lane()) : -LANES);
    count = rows_together<MAX_ROWS>(at, rows, slot, slots, positions);
  }
  return {at, count, at < rows && positions[at] == 0};
}

/// The same for chunks of whole warps' lanes.
template <i32 MAX_ROWS>
DEVICE Chunk next_long_chunk(i32 at, i32 rows, i32 slot, const i32* slots, const i32* positions) {
  Chunk chunk = next_chunk<LANES>(at, rows, slot, slots, positions);
  for (i32 full = LANES; full < MAX_ROWS && chunk.count == full; full += LANES) {
    i32 after = chunk.first + full;
    if (after < rows && positions[after] != 0) chunk.count += rows_together<LANES>(after, rows, slot, slots, positions);
  }
  return chunk;
}

/// Where column `c` of a thread's stands in a row that ROW_THREADS threads share: neighbours hold neighbouring fours.
template <i32 ROW_THREADS>
DEVICE i32 column_of(i32 part, i32 c) {
  return ROW_THREADS == 1 ? c : c / 4 * (4 * ROW_THREADS) + 4 * part + c % 4;
}

/// Loads a thread's columns of a row, in vectors if they are whole fours.
template <i32 ROW_THREADS, i32 COLUMNS>
DEVICE void load_columns(f32* columns, const f32* row, i32 part) {
  constexpr i32 VECTOR = COLUMNS % 4 == 0 ? 4 : 1;
  UNROLL for (i32 c = 0; c < COLUMNS; c += VECTOR) {
    const f32* from = row + column_of<ROW_THREADS>(part, c);
    if constexpr (VECTOR == 4) {
      f32x4 four = *reinterpret_cast<const f32x4*>(from);
      columns[c] = four.x, columns[c + 1] = four.y, columns[c + 2] = four.z, columns[c + 3] = four.w;
    } else {
      columns[c] = *from;
    }
  }
}

/// Stores them.
template <i32 ROW_THREADS, i32 COLUMNS>
DEVICE void store_columns(f32* row, const f32* columns, i32 part) {
  constexpr i32 VECTOR = COLUMNS % 4 == 0 ? 4 : 1;
  UNROLL for (i32 c = 0; c < COLUMNS; c += VECTOR) {
    f32* to = row + column_of<ROW_THREADS>(part, c);
    if constexpr (VECTOR == 4) *reinterpret_cast<f32x4*>(to) = {columns[c], columns[c + 1], columns[c + 2], columns[c + 3]};
    else *to = columns[c];
  }
}

/// The sum over the ROW_THREADS threads of a row.
template <i32 ROW_THREADS>
DEVICE f32 row_sum(f32 value) {
  UNROLL for (i32 step = ROW_THREADS / 2; step > 0; step >>= 1) value += shuffle_xor(value, step);
  return value;
}

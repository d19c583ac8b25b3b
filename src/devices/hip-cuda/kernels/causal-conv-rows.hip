// A depthwise causal convolution of slots with few rows: a thread takes a column of a slot, row after row.
//
//   TAPS  of a column, the row's own last
#include "activation.h"
#include "slot-rows.h"

constexpr i32 THREADS = 256, BEFORE = TAPS - 1;

#ifndef ACTIVATION
DEVICE f32 activation(f32 x) { return x; }
#endif

/// `last` holds the BEFORE rows of a slot before these, the oldest first; `bias` may be null.
KERNEL(causal_conv_rows, THREADS, const i32* count, const i32* slots, const i32* slot_rows, const i32* positions, const f32* x,
       const f32* weight, const f32* bias, f32* last, f32* out, i32 width) {
  grid_launch_dependents();
  grid_dependency_wait();
  SlotRows own_rows = rows_of_block(count, slots, slot_rows);
  if (own_rows.first >= own_rows.end) return;
  i32 slot = own_rows.slot, rows = own_rows.end, column = block_x() * THREADS + thread();
  bool in_range = column < width;
  f32* stored = last + i64(slot) * BEFORE * width + column;
  f32 taps[TAPS], window[TAPS], term = in_range && bias ? bias[column] : 0.0f;
  UNROLL for (i32 t = 0; t < TAPS; t++) taps[t] = in_range ? weight[i64(column) * TAPS + t] : 0.0f;
  // A row moves what is there by one.
  UNROLL for (i32 t = 0; t < BEFORE; t++) window[t + 1] = in_range ? stored[i64(t) * width] : 0.0f;
  Chunk chunk = next_chunk<LANES>(own_rows.first, rows, slot, slots, positions);
  while (chunk.count > 0) {
    if (chunk.begins) {
      UNROLL for (i32 t = 0; t < TAPS; t++) window[t] = 0;
    }
    for (i32 row = chunk.first; row < chunk.first + chunk.count; row++) {
      UNROLL for (i32 t = 0; t < BEFORE; t++) window[t] = window[t + 1];
      window[BEFORE] = in_range ? x[i64(row) * width + column] : 0.0f;
      f32 sum = term;
      UNROLL for (i32 t = 0; t < TAPS; t++) sum = fused_multiply_add(taps[t], window[t], sum);
      if (in_range) out[i64(row) * width + column] = activation(sum);
    }
    chunk = next_chunk<LANES>(chunk.first + chunk.count, rows, slot, slots, positions);
  }
  if (!in_range) return;
  UNROLL for (i32 t = 0; t < BEFORE; t++) stored[i64(t) * width] = window[t + 1];
}

// A depthwise causal convolution over the rows of each slot. A block takes COLUMNS columns of a slot, a warp some of a chunk's rows.
//
//   TAPS   of a column, the row's own last
//   CHUNK  rows that are loaded together, a multiple of 32
#include "activation.h"
#include "slot-rows.h"

constexpr i32 THREADS = 256, COLUMNS = LANES, WARPS = THREADS / LANES, BEFORE = TAPS - 1;
/// Rows of a chunk that a warp loads at once.
constexpr i32 OWN_ROWS = CHUNK / WARPS;

#ifndef ACTIVATION
DEVICE f32 activation(f32 x) { return x; }
#endif

/// `last` holds the BEFORE rows of a slot before these, the oldest first; `bias` may be null.
KERNEL(causal_conv, THREADS, const i32* count, const i32* slots, const i32* slot_rows, const i32* positions, const f32* x, const f32* weight,
       const f32* bias, f32* last, f32* out, i32 width) {
  SHARED f32 window[BEFORE + CHUNK][COLUMNS];
  grid_launch_dependents();
  grid_dependency_wait();
  SlotRows own_rows = rows_of_block(count, slots, slot_rows);
  if (own_rows.first >= own_rows.end) return;
  i32 slot = own_rows.slot, rows = own_rows.end, warp = thread() / LANES, column = block_x() * COLUMNS + i32(lane());
  bool in_range = column < width, loaded = false;
  f32* stored = last + (i64(slot) * BEFORE + warp) * width + column;
  f32 taps[TAPS], term = in_range && bias ? bias[column] : 0.0f, before = 0;
  UNROLL for (i32 t = 0; t < TAPS; t++) taps[t] = in_range ? weight[i64(column) * TAPS + t] : 0.0f;
  Chunk chunk = next_long_chunk<CHUNK>(own_rows.first, rows, slot, slots, positions);
  while (chunk.count > 0) {
    if (warp < BEFORE && in_range) {
      if (chunk.begins) before = 0;
      else if (!loaded) before = *stored;
      window[warp][lane()] = before;
    }
    loaded = true;
    f32 own[OWN_ROWS];
    UNROLL for (i32 r = 0; r < OWN_ROWS; r++) {
      i32 t = warp + r * WARPS;
      own[r] = in_range && t < chunk.count ? x[i64(chunk.first + t) * width + column] : 0.0f;
    }
    UNROLL for (i32 r = 0; r < OWN_ROWS; r++) window[BEFORE + warp + r * WARPS][lane()] = own[r];
    barrier();
    for (i32 t = warp; t < chunk.count; t += WARPS) {
      f32 sum = term;
      UNROLL for (i32 tap = 0; tap < TAPS; tap++) sum = fused_multiply_add(taps[tap], window[t + tap][lane()], sum);
      if (in_range) out[i64(chunk.first + t) * width + column] = activation(sum);
    }
    if (warp < BEFORE) before = window[chunk.count + warp][lane()];
    barrier();
    chunk = next_long_chunk<CHUNK>(chunk.first + chunk.count, rows, slot, slots, positions);
  }
  if (loaded && in_range && warp < BEFORE) *stored = before;
}

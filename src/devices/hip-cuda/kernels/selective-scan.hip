// Mamba's recurrence: a block takes SLICE lines of the states of a slot, all of one group, from the slot's first row to its last; SPLIT
// threads take a line, which stays in registers.
//
//   STATE_SIZE   values of a line
//   RATES        of a head: 1, or one a state; 0 where rows give the factors of each state, in place of `dt`
//   CHUNK        rows whose operands are loaded together
//   SHORT_ROWS   slots with so many rows together are left to selective-scan-chunks.hip; 0 if none are
#include "functions.h"
#include "slot-rows.h"

constexpr i32 THREADS = 128, SLICE = THREADS / SPLIT, COLUMNS = STATE_SIZE / SPLIT;

/// A chunk's operands. `decay` is the whole one where heads have one rate.
struct Shared {
  f32 b[CHUNK][STATE_SIZE], c[CHUNK][STATE_SIZE], x[CHUNK][SLICE], dt[CHUNK][SLICE], decay[CHUNK][SLICE];
#if RATES == 0
  f32 factors[CHUNK][STATE_SIZE];
#endif
};

KERNEL(selective_scan, THREADS, const i32* count, const i32* slots, const i32* slot_rows, const i32* positions, const f32* x, const f32* dt,
       const f32* b, const f32* c, const f32* rates, const f32* skips, f32* state, f32* out, i32 heads, i32 head_size,
       i32 groups) {
  SHARED Shared shared;
  grid_launch_dependents();
  grid_dependency_wait();
  SlotRows own_rows = rows_of_block(count, slots, slot_rows);
  if (own_rows.first >= own_rows.end) return;
  i32 slot = own_rows.slot, rows = own_rows.end, own = thread() / SPLIT, part = thread() % SPLIT, width = heads * head_size;
  if (SHORT_ROWS > 0 && next_chunk<LANES>(own_rows.first, rows, slot, slots, positions).count >= SHORT_ROWS) return;
  i32 lines = width / groups, slices = (lines + SLICE - 1) / SLICE, group = i32(block_x()) / slices;
  i32 first = i32(block_x()) % slices * SLICE, line_of_group = first + own;
  bool in_range = line_of_group < lines;
  i32 line = group * lines + (in_range ? line_of_group : 0), head = line / head_size;
  f32* stored = state + (i64(slot) * width + line) * STATE_SIZE;
  f32 values[COLUMNS], rate[RATES == 1 ? 1 : COLUMNS], skip = RATES ? skips[head] : 0.0f;
  UNROLL for (i32 n = 0; n < (RATES == 1 ? 1 : COLUMNS); n++) {
    rate[n] = RATES ? rates[i64(head) * RATES + (RATES == 1 ? 0 : column_of<SPLIT>(part, n))] : 0.0f;
  }
  load_columns<SPLIT, COLUMNS>(values, stored, part);
  Chunk chunk = next_chunk<CHUNK>(own_rows.first, rows, slot, slots, positions);
  while (chunk.count > 0) {
    if (chunk.begins) {
      UNROLL for (i32 n = 0; n < COLUMNS; n++) values[n] = 0;
    }
    for (i32 i = thread(); i < chunk.count * STATE_SIZE; i += THREADS) {
      i32 t = i / STATE_SIZE, n = i % STATE_SIZE;
      i64 at = (i64(chunk.first + t) * groups + group) * STATE_SIZE + n;
      shared.b[t][n] = b[at];
      shared.c[t][n] = c[at];
#if RATES == 0
      shared.factors[t][n] = dt[at];
#endif
    }
    for (i32 t = part; t < chunk.count; t += SPLIT) {
      i64 row = chunk.first + t;
      f32 step = RATES ? dt[row * heads + head] : 1.0f;
      shared.x[t][own] = x[row * width + line];
      shared.dt[t][own] = step;
      if (RATES == 1) shared.decay[t][own] = exponential(step * rate[0]);
    }
    barrier();
    for (i32 t = 0; t < chunk.count; t++) {
      f32 input = shared.x[t][own], step = shared.dt[t][own], added = step * input, sum = 0;
      UNROLL for (i32 n = 0; n < COLUMNS; n++) {
        i32 j = column_of<SPLIT>(part, n);
#if RATES == 0
        f32 decay = shared.factors[t][j];
#else
        f32 decay = RATES == 1 ? shared.decay[t][own] : exponential(step * rate[RATES == 1 ? 0 : n]);
#endif
        values[n] = fused_multiply_add(values[n], decay, added * shared.b[t][j]);
        sum = fused_multiply_add(values[n], shared.c[t][j], sum);
      }
      sum = row_sum<SPLIT>(sum);
      if (part == 0 && in_range) out[i64(chunk.first + t) * width + line] = fused_multiply_add(skip, input, sum);
    }
    barrier();
    chunk = next_chunk<CHUNK>(chunk.first + chunk.count, rows, slot, slots, positions);
  }
  if (!in_range) return;
  store_columns<SPLIT, COLUMNS>(stored, values, part);
}

// The gated delta rule: a block takes SLICE rows of the matrix of a head of a slot, which do not know of each other, from the slot's
// first row to its last; SPLIT threads take a row of the matrix, which stays in registers.
//
//   CHUNK       rows whose operands are loaded together
//   SHORT_ROWS  slots with so many rows together are left to gated-delta-chunks.hip; 0 if none are
#include "gated-delta.h"
#include "slot-rows.h"

constexpr i32 THREADS = 128, SLICE = THREADS / SPLIT, COLUMNS = KEY_SIZE / SPLIT, WARPS = THREADS / LANES;
constexpr i32 SLICES = (VALUE_SIZE + SLICE - 1) / SLICE;

/// A chunk's operands: queries and keys of length 1, and how much of the key a query is.
struct Shared {
  f32 q[CHUNK][KEY_SIZE], k[CHUNK][KEY_SIZE], decay[CHUNK][DECAYS], v[CHUNK][SLICE], beta[CHUNK], query_key[CHUNK];
};

/// Loads and normalizes queries and keys, a row by a warp, and loads everything else. All threads go through as many rounds, because
/// two warps may be one wave, which exchanges values as a whole.
DEVICE void load_chunk(Shared& shared, const Chunk& chunk, const Sources& of, i32 first_value) {
  for (i32 begin = 0; begin < chunk.count; begin += WARPS) {
    i32 t = begin + thread() / LANES;
    bool in_range = t < chunk.count;
    i64 row = chunk.first + (in_range ? t : begin);
    const f32 *query = of.query_of(row), *key = of.key_of(row), *values = of.value_of(row);
    f32 queries = 0, keys = 0, both = 0;
    for (i32 j = lane(); j < KEY_SIZE; j += LANES) {
      f32 q = query[j], k = key[j];
      queries = fused_multiply_add(q, q, queries);
      keys = fused_multiply_add(k, k, keys);
      both = fused_multiply_add(q, k, both);
    }
    f32 query_factor = of.scale / square_root(warp_sum(queries) + of.length_epsilon);
    f32 key_factor = 1.0f / square_root(warp_sum(keys) + of.length_epsilon);
    both = warp_sum(both);
    if (!in_range) continue;
    for (i32 j = lane(); j < KEY_SIZE; j += LANES) {
      shared.q[t][j] = query[j] * query_factor;
      shared.k[t][j] = key[j] * key_factor;
    }
    for (i32 j = lane(); j < DECAYS; j += LANES) shared.decay[t][j] = exponential(of.decay_of(row, j));
    for (i32 i = lane(); i < SLICE; i += LANES) {
      i32 value = first_value + i;
      shared.v[t][i] = value < VALUE_SIZE ? values[value] : 0.0f;
    }
    if (lane() == 0) {
      shared.beta[t] = of.beta_of(row);
      shared.query_key[t] = both * query_factor * key_factor;
    }
  }
}

KERNEL(gated_delta, THREADS, const i32* count, const i32* slots, const i32* slot_rows, const i32* positions, f32* state, f32* out, DELTA_PARAMETERS) {
  SHARED Shared shared;
  grid_launch_dependents();
  grid_dependency_wait();
  SlotRows own_rows = rows_of_block(count, slots, slot_rows);
  if (own_rows.first >= own_rows.end) return;
  i32 slot = own_rows.slot, rows = own_rows.end, own = thread() / SPLIT, part = thread() % SPLIT, head = block_x() / SLICES;
  i32 first = i32(block_x()) % SLICES * SLICE, value = first + own;
  bool in_range = value < VALUE_SIZE;
  if (SHORT_ROWS > 0 && next_chunk<LANES>(own_rows.first, rows, slot, slots, positions).count >= SHORT_ROWS) return;
  Sources of = DELTA_SOURCES(head);
  f32* stored = state + ((i64(slot) * heads + head) * VALUE_SIZE + (in_range ? value : 0)) * KEY_SIZE;
  f32 line[COLUMNS];
  load_columns<SPLIT, COLUMNS>(line, stored, part);
  Chunk chunk = next_chunk<CHUNK>(own_rows.first, rows, slot, slots, positions);
  while (chunk.count > 0) {
    if (chunk.begins) {
      UNROLL for (i32 c = 0; c < COLUMNS; c++) line[c] = 0;
    }
    load_chunk(shared, chunk, of, first);
    barrier();
    for (i32 t = 0; t < chunk.count; t++) {
      // Both sums are over the decayed matrix: what the row writes is added to what it reads by how alike key and query are.
      f32 found = 0, read = 0;
      UNROLL for (i32 c = 0; c < COLUMNS; c++) {
        i32 j = column_of<SPLIT>(part, c);
        line[c] *= shared.decay[t][DECAYS == 1 ? 0 : j];
        found = fused_multiply_add(line[c], shared.k[t][j], found);
        read = fused_multiply_add(line[c], shared.q[t][j], read);
      }
      found = row_sum<SPLIT>(found);
      read = row_sum<SPLIT>(read);
      f32 delta = shared.beta[t] * (shared.v[t][own] - found);
      UNROLL for (i32 c = 0; c < COLUMNS; c++) {
        line[c] = fused_multiply_add(delta, shared.k[t][column_of<SPLIT>(part, c)], line[c]);
      }
      if (part == 0 && in_range) {
        out[(i64(chunk.first + t) * heads + head) * VALUE_SIZE + value] = read + delta * shared.query_key[t];
      }
    }
    barrier();
    chunk = next_chunk<CHUNK>(chunk.first + chunk.count, rows, slot, slots, positions);
  }
  if (!in_range) return;
  store_columns<SPLIT, COLUMNS>(stored, line, part);
}

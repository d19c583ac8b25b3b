// Mamba-2's recurrence for rows of a sequence that stand together, CHUNK of them at a time, as products of matrices (Dao and Gu 2024,
// "Transformers are SSMs", section 6). A block takes SLICE lines of a head's state in a slot, from the slot's first row to its last.
//
// With `G[t]` the sum of `dt a` of a chunk up to its row t, and `S` the state before the chunk:
//
//   seen[t, s] = e^(G[t] - G[s]) dt[s] (b[s] . c[t]) for s <= t
//   out[t] = e^G[t] S c[t] + sum over s <= t of seen[t, s] x[s] + d x[t]
//   S      = e^G[last] S + sum over s of e^(G[last] - G[s]) dt[s] x[s] b[s]^T
//
//   CHUNK       rows, a multiple of 32
//   SLICE       of HEAD_SIZE, a multiple of 16
//   SHORT_ROWS  slots with fewer rows together are left to selective-scan.hip
#include "decay-sums.h"
#include "float-matrix.h"
#include "slot-rows.h"

constexpr i32 ROW_TILES = CHUNK / 16, WARPS = 2 * ROW_TILES, THREADS = WARPS * LANES, WARP_ROWS = CHUNK / WARPS;
constexpr i32 SLICES = HEAD_SIZE / SLICE, LANE_STATES = STATE_SIZE / LANES;
/// Of a tile of rows, two warps take half of the columns each.
constexpr i32 OWN_VALUES = SLICE / 2, VALUE_TILES = OWN_VALUES / 8;
/// Lines are longer than they are, so that the lanes that read a product's operands meet in no bank.
constexpr i32 LINE = STATE_SIZE + 4, PAIRS = CHUNK + 4, VALUES = SLICE + 8;
/// Columns of the state that a warp updates.
constexpr i32 OWN_COLUMNS = STATE_SIZE / WARPS, OWN_TILES = OWN_COLUMNS / 8;

struct Shared {
  DecaySums<CHUNK> decays;
  f32 b[CHUNK][LINE], c[CHUNK][LINE], state[SLICE][LINE];
  f32 seen[CHUNK][PAIRS], x[CHUNK][VALUES], dt[CHUNK];
};

/// Where a head's operands are.
struct Sources {
  const f32 *x, *dt, *b, *c;
  i32 width, heads, inputs;
};

/// What a thread holds of a chunk: a lane's part of the warp's rows, and the time step of a row.
struct Operands {
  f32 b[WARP_ROWS][LANE_STATES], c[WARP_ROWS][LANE_STATES], x[WARP_ROWS], dt;
};

DEVICE Operands load_operands(const Chunk& chunk, const Sources& of) {
  Operands loaded;
  i32 warp = thread() / LANES, own = lane();
  UNROLL for (i32 r = 0; r < WARP_ROWS; r++) {
    i32 t = warp * WARP_ROWS + r;
    bool used = t < chunk.count;
    i64 row = chunk.first + t;
    UNROLL for (i32 n = 0; n < LANE_STATES; n++) {
      loaded.b[r][n] = used ? of.b[row * of.inputs + n * LANES + own] : 0.0f;
      loaded.c[r][n] = used ? of.c[row * of.inputs + n * LANES + own] : 0.0f;
    }
    loaded.x[r] = used && own < SLICE ? of.x[row * of.width + own] : 0.0f;
  }
  i32 t = thread() % CHUNK;
  loaded.dt = t < chunk.count ? of.dt[i64(chunk.first + t) * of.heads] : 0.0f;
  return loaded;
}

DEVICE void store_operands(Shared& shared, const Operands& of, f32 rate) {
  i32 warp = thread() / LANES, own = lane();
  UNROLL for (i32 r = 0; r < WARP_ROWS; r++) {
    i32 t = warp * WARP_ROWS + r;
    UNROLL for (i32 n = 0; n < LANE_STATES; n++) {
      shared.b[t][n * LANES + own] = of.b[r][n];
      shared.c[t][n * LANES + own] = of.c[r][n];
    }
    if (own < SLICE) shared.x[t][own] = of.x[r];
  }
  shared.decays.add_up(of.dt * rate);
  if (i32(thread()) < CHUNK) shared.dt[thread()] = of.dt;
}

/// What the rows of a tile see of the rows up to them: every other tile of those is this warp's.
DEVICE void multiply_pairs(Shared& shared, i32 tile, i32 half) {
  for (i32 other = half; other <= tile; other += 2) {
    FloatSum pairs[2] = {};
    multiply_floats<2>(pairs, STATE_SIZE, [&](i32 row, i32 k) { return shared.c[16 * tile + row][k]; },
                       [&](i32 k, i32 n) { return shared.b[16 * other + n][k]; });
    UNROLL for (i32 i = 0; i < 2 * FLOAT_SUMS; i++) {
      i32 t = 16 * tile + sum_row(i % FLOAT_SUMS), s = 16 * other + 8 * (i / FLOAT_SUMS) + sum_column(i % FLOAT_SUMS);
      f32 factor = s <= t ? shared.decays.from(s, t) * shared.dt[s] : 0.0f;
      shared.seen[t][s] = factor * pairs[i / FLOAT_SUMS].at[i % FLOAT_SUMS];
    }
  }
}

/// Updates a warp's columns of the state.
DEVICE void update_state(Shared& shared, i32 first) {
  f32 decay = shared.decays.grown[CHUNK - 1];
  auto added = [&](i32 line, i32 k) { return shared.x[k][line] * (shared.decays.left[k] * shared.dt[k]); };
  UNROLL for (i32 tile = 0; tile < SLICE / 16; tile++) {
    FloatSum sums[OWN_TILES];
    auto element = [&](i32 i) -> f32& {
      return shared.state[16 * tile + sum_row(i % FLOAT_SUMS)][first + 8 * (i / FLOAT_SUMS) + sum_column(i % FLOAT_SUMS)];
    };
    UNROLL for (i32 i = 0; i < OWN_TILES * FLOAT_SUMS; i++) sums[i / FLOAT_SUMS].at[i % FLOAT_SUMS] = element(i) * decay;
    multiply_floats<OWN_TILES>(sums, CHUNK, [&](i32 row, i32 k) { return added(16 * tile + row, k); },
                               [&](i32 k, i32 n) { return shared.b[k][first + n]; });
    UNROLL for (i32 i = 0; i < OWN_TILES * FLOAT_SUMS; i++) element(i) = sums[i / FLOAT_SUMS].at[i % FLOAT_SUMS];
  }
}

KERNEL(selective_scan_chunks, THREADS, const i32* count, const i32* slots, const i32* slot_rows, const i32* positions, const f32* x, const f32* dt,
       const f32* b, const f32* c, const f32* rates, const f32* skips, f32* state, f32* out, i32 heads, i32 groups) {
  DYNAMIC_SHARED(memory);
  Shared& shared = *reinterpret_cast<Shared*>(memory);
  grid_launch_dependents();
  grid_dependency_wait();
  SlotRows own_rows = rows_of_block(count, slots, slot_rows);
  if (own_rows.first >= own_rows.end) return;
  i32 slot = own_rows.slot, rows = own_rows.end, head = block_x() / SLICES, line = i32(block_x()) * SLICE;
  i32 warp = thread() / LANES, tile = warp % ROW_TILES, half = warp / ROW_TILES, first_value = half * OWN_VALUES;
  i32 width = heads * HEAD_SIZE, inputs = groups * STATE_SIZE, group = head / (heads / groups);
  Chunk chunk = next_long_chunk<CHUNK>(own_rows.first, rows, slot, slots, positions);
  if (chunk.count < max_of(SHORT_ROWS, 1)) return;
  Sources of = {x + line, dt + head, b + group * STATE_SIZE, c + group * STATE_SIZE, width, heads, inputs};
  f32* stored = state + (i64(slot) * width + line) * STATE_SIZE;
  f32 rate = rates[head], skip = skips[head];
  Operands operands = load_operands(chunk, of);
  for (i32 i = thread(); i < SLICE * STATE_SIZE; i += THREADS) shared.state[i / STATE_SIZE][i % STATE_SIZE] = stored[i];
  while (chunk.count > 0) {
    Chunk next = next_long_chunk<CHUNK>(chunk.first + chunk.count, rows, slot, slots, positions);
    if (chunk.begins) {
      for (i32 i = thread(); i < SLICE * STATE_SIZE; i += THREADS) shared.state[i / STATE_SIZE][i % STATE_SIZE] = 0;
    }
    store_operands(shared, operands, rate);
    operands = load_operands(next, of);
    barrier();

    shared.decays.make_factors();
    FloatSum sums[VALUE_TILES] = {};
    multiply_floats<VALUE_TILES>(sums, STATE_SIZE, [&](i32 row, i32 k) { return shared.c[16 * tile + row][k]; },
                                 [&](i32 k, i32 n) { return shared.state[first_value + n][k]; });
    multiply_pairs(shared, tile, half);
    barrier();

    UNROLL for (i32 i = 0; i < VALUE_TILES * FLOAT_SUMS; i++) {
      sums[i / FLOAT_SUMS].at[i % FLOAT_SUMS] *= shared.decays.grown[16 * tile + sum_row(i % FLOAT_SUMS)];
    }
    multiply_floats<VALUE_TILES>(sums, 16 * (tile + 1), [&](i32 row, i32 k) { return shared.seen[16 * tile + row][k]; },
                                 [&](i32 k, i32 n) { return shared.x[k][first_value + n]; });
    UNROLL for (i32 i = 0; i < VALUE_TILES * FLOAT_SUMS; i++) {
      i32 t = 16 * tile + sum_row(i % FLOAT_SUMS), n = first_value + 8 * (i / FLOAT_SUMS) + sum_column(i % FLOAT_SUMS);
      f32 sum = fused_multiply_add(skip, shared.x[t][n], sums[i / FLOAT_SUMS].at[i % FLOAT_SUMS]);
      if (t < chunk.count) out[i64(chunk.first + t) * width + line + n] = sum;
    }
    update_state(shared, warp * OWN_COLUMNS);
    barrier();
    chunk = next;
  }
  for (i32 i = thread(); i < SLICE * STATE_SIZE; i += THREADS) stored[i] = shared.state[i / STATE_SIZE][i % STATE_SIZE];
}

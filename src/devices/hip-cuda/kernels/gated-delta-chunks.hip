// The gated delta rule for rows of a sequence that stand together, CHUNK of them at a time (Yang et al. 2024, "Parallelizing Linear
// Transformers with the Delta Rule over Sequence Length"; Yang et al. 2025, "Gated Delta Networks"). A block takes SLICE rows of
// the matrix of a head of a slot, which do not know of each other, from the slot's first row to its last.
//
// With `G[t]` the sum of a chunk's logarithms of decays up to its row t, and `S` the matrix before the chunk:
//
//   between[t, s] = beta[t] e^(G[t] - G[s]) (k[s] . k[t]) for s < t     seen[t, s] = e^(G[t] - G[s]) (k[s] . q[t]) for s <= t
//   (1 + between) delta = beta[t] (v[t] - e^G[t] S k[t])
//   out[t] = e^G[t] S q[t] + sum over s <= t of seen[t, s] delta[s]
//   S      = e^G[last] S + sum over s of e^(G[last] - G[s]) delta[s] k[s]^T
//
// The system is solved in blocks of 16 rows, whose inverses are found all at once.
//
//   CHUNK       rows, a multiple of 32
//   SLICE       of VALUE_SIZE, a multiple of 16
//   SHORT_ROWS  slots with fewer rows together are left to gated-delta.hip
#include "decay-sums.h"
#include "float-matrix.h"
#include "gated-delta.h"
#include "slot-rows.h"

constexpr i32 ROW_TILES = CHUNK / 16, WARPS = 2 * ROW_TILES, THREADS = WARPS * LANES, WARP_ROWS = CHUNK / WARPS;
constexpr i32 SLICES = VALUE_SIZE / SLICE, VALUE_TILES = SLICE / 8, LANE_KEYS = KEY_SIZE / LANES;
/// Lines are longer than they are, so that the lanes that read a product's operands meet in no bank.
constexpr i32 LINE = KEY_SIZE + 4, PAIRS = CHUNK + 4, VALUES = SLICE + 8;
/// Columns of the matrix that a warp updates.
constexpr i32 OWN_COLUMNS = KEY_SIZE / WARPS, OWN_TILES = OWN_COLUMNS / 8;

struct Shared {
  DecaySums<CHUNK> decays;
  /// Queries and keys of length 1, and the matrix.
  f32 q[CHUNK][LINE], k[CHUNK][LINE], state[SLICE][LINE];
  f32 between[CHUNK][PAIRS], seen[CHUNK][PAIRS], inverse[ROW_TILES][16][20];
  /// Values, then what of them is not known, then the deltas.
  f32 values[CHUNK][VALUES];
  f32 beta[CHUNK];
};

/// What a thread holds of a chunk: a lane's part of the warp's rows, and the decay and beta of a row.
struct Operands {
  f32 q[WARP_ROWS][LANE_KEYS], k[WARP_ROWS][LANE_KEYS], v[WARP_ROWS], decay, beta;
};

DEVICE Operands load_operands(const Chunk& chunk, const Sources& of, i32 first_value) {
  Operands loaded;
  i32 warp = thread() / LANES, own = lane();
  UNROLL for (i32 r = 0; r < WARP_ROWS; r++) {
    i32 t = warp * WARP_ROWS + r;
    bool used = t < chunk.count;
    i64 row = chunk.first + t;
    UNROLL for (i32 c = 0; c < LANE_KEYS; c++) {
      loaded.q[r][c] = used ? of.query_of(row)[c * LANES + own] : 0.0f;
      loaded.k[r][c] = used ? of.key_of(row)[c * LANES + own] : 0.0f;
    }
    loaded.v[r] = used && own < SLICE ? of.value_of(row)[first_value + own] : 0.0f;
  }
  i32 t = thread() % CHUNK;
  bool used = t < chunk.count;
  loaded.decay = used ? of.decay_of(chunk.first + t, 0) : 0.0f;
  loaded.beta = used ? of.beta_of(chunk.first + t) : 0.0f;
  return loaded;
}

DEVICE void store_operands(Shared& shared, const Operands& of, f32 length_epsilon, f32 scale) {
  i32 warp = thread() / LANES, own = lane();
  UNROLL for (i32 r = 0; r < WARP_ROWS; r++) {
    i32 t = warp * WARP_ROWS + r;
    f32 queries = 0, keys = 0;
    UNROLL for (i32 c = 0; c < LANE_KEYS; c++) {
      queries = fused_multiply_add(of.q[r][c], of.q[r][c], queries);
      keys = fused_multiply_add(of.k[r][c], of.k[r][c], keys);
    }
    f32 query_factor = scale / square_root(warp_sum(queries) + length_epsilon);
    f32 key_factor = 1.0f / square_root(warp_sum(keys) + length_epsilon);
    UNROLL for (i32 c = 0; c < LANE_KEYS; c++) {
      shared.q[t][c * LANES + own] = of.q[r][c] * query_factor;
      shared.k[t][c * LANES + own] = of.k[r][c] * key_factor;
    }
    if (own < SLICE) shared.values[t][own] = of.v[r];
  }
  shared.decays.add_up(of.decay);
  if (i32(thread()) < CHUNK) shared.beta[thread()] = of.beta;
}

/// What a row of `rows` (keys, then queries) meets in the matrix, and what it meets in the keys of the rows before it.
DEVICE void multiply_rows(Shared& shared, i32 tile, bool is_query, FloatSum* by_state) {
  f32(*rows)[LINE] = is_query ? shared.q : shared.k;
  auto left = [&](i32 row, i32 k) { return rows[16 * tile + row][k]; };
  multiply_floats<VALUE_TILES>(by_state, KEY_SIZE, left, [&](i32 k, i32 n) { return shared.state[n][k]; });
  for (i32 other = 0; other <= tile; other++) {
    FloatSum pairs[2] = {};
    multiply_floats<2>(pairs, KEY_SIZE, left, [&](i32 k, i32 n) { return shared.k[16 * other + n][k]; });
    UNROLL for (i32 i = 0; i < 2 * FLOAT_SUMS; i++) {
      i32 t = 16 * tile + sum_row(i % FLOAT_SUMS), s = 16 * other + 8 * (i / FLOAT_SUMS) + sum_column(i % FLOAT_SUMS);
      f32 product = pairs[i / FLOAT_SUMS].at[i % FLOAT_SUMS];
      bool counts = is_query ? s <= t : s < t;
      f32 factor = counts ? shared.decays.from(s, t) : 0.0f;
      if (is_query) shared.seen[t][s] = factor * product;
      else shared.between[t][s] = factor * product * shared.beta[t];
    }
  }
}

/// The inverse of 1 + a block of `between` on the diagonal, whose columns do not know of each other: a lane takes one.
DEVICE void invert_block(Shared& shared, i32 tile, i32 column) {
  f32 inverse[16];
  UNROLL for (i32 t = 0; t < 16; t++) inverse[t] = t == column ? 1.0f : 0.0f;
  UNROLL for (i32 s = 0; s < 15; s++) {
    UNROLL for (i32 t = s + 1; t < 16; t++) {
      inverse[t] = fused_multiply_add(-shared.between[16 * tile + t][16 * tile + s], inverse[s], inverse[t]);
    }
  }
  UNROLL for (i32 t = 0; t < 16; t++) shared.inverse[tile][t][column] = inverse[t];
}

/// Makes deltas of eight columns of `values`, which only one warp writes and reads.
DEVICE void solve_columns(Shared& shared, i32 first) {
  for (i32 tile = 0; tile < ROW_TILES; tile++) {
    FloatSum known[1] = {}, solved[1] = {};
    multiply_floats<1>(known, 16 * tile, [&](i32 row, i32 k) { return shared.between[16 * tile + row][k]; },
                       [&](i32 k, i32 n) { return shared.values[k][first + n]; });
    UNROLL for (i32 i = 0; i < FLOAT_SUMS; i++) shared.values[16 * tile + sum_row(i)][first + sum_column(i)] -= known[0].at[i];
    warp_barrier();
    multiply_floats<1>(solved, 16, [&](i32 row, i32 k) { return shared.inverse[tile][row][k]; },
                       [&](i32 k, i32 n) { return shared.values[16 * tile + k][first + n]; });
    warp_barrier();
    UNROLL for (i32 i = 0; i < FLOAT_SUMS; i++) shared.values[16 * tile + sum_row(i)][first + sum_column(i)] = solved[0].at[i];
    warp_barrier();
  }
}

/// Updates a warp's columns of the matrix.
DEVICE void update_state(Shared& shared, i32 first) {
  f32 decay = shared.decays.grown[CHUNK - 1];
  UNROLL for (i32 tile = 0; tile < SLICE / 16; tile++) {
    FloatSum sums[OWN_TILES];
    auto element = [&](i32 i) -> f32& {
      return shared.state[16 * tile + sum_row(i % FLOAT_SUMS)][first + 8 * (i / FLOAT_SUMS) + sum_column(i % FLOAT_SUMS)];
    };
    UNROLL for (i32 i = 0; i < OWN_TILES * FLOAT_SUMS; i++) sums[i / FLOAT_SUMS].at[i % FLOAT_SUMS] = element(i) * decay;
    multiply_floats<OWN_TILES>(sums, CHUNK, [&](i32 row, i32 k) { return shared.values[k][16 * tile + row] * shared.decays.left[k]; },
                               [&](i32 k, i32 n) { return shared.k[k][first + n]; });
    UNROLL for (i32 i = 0; i < OWN_TILES * FLOAT_SUMS; i++) element(i) = sums[i / FLOAT_SUMS].at[i % FLOAT_SUMS];
  }
}

KERNEL(gated_delta_chunks, THREADS, const i32* count, const i32* slots, const i32* slot_rows, const i32* positions, f32* state, f32* out, DELTA_PARAMETERS) {
  DYNAMIC_SHARED(memory);
  Shared& shared = *reinterpret_cast<Shared*>(memory);
  grid_launch_dependents();
  grid_dependency_wait();
  SlotRows own_rows = rows_of_block(count, slots, slot_rows);
  if (own_rows.first >= own_rows.end) return;
  i32 slot = own_rows.slot, rows = own_rows.end, head = block_x() / SLICES, first_value = i32(block_x()) % SLICES * SLICE;
  i32 warp = thread() / LANES, tile = warp % ROW_TILES;
  bool is_query = warp >= ROW_TILES;
  Sources of = DELTA_SOURCES(head);
  Chunk chunk = next_long_chunk<CHUNK>(own_rows.first, rows, slot, slots, positions);
  if (chunk.count < max_of(SHORT_ROWS, 1)) return;
  f32* stored = state + ((i64(slot) * heads + head) * VALUE_SIZE + first_value) * KEY_SIZE;
  Operands operands = load_operands(chunk, of, first_value);
  for (i32 i = thread(); i < SLICE * KEY_SIZE; i += THREADS) shared.state[i / KEY_SIZE][i % KEY_SIZE] = stored[i];
  while (chunk.count > 0) {
    Chunk next = next_long_chunk<CHUNK>(chunk.first + chunk.count, rows, slot, slots, positions);
    if (chunk.begins) {
      for (i32 i = thread(); i < SLICE * KEY_SIZE; i += THREADS) shared.state[i / KEY_SIZE][i % KEY_SIZE] = 0;
    }
    store_operands(shared, operands, length_epsilon, scale);
    operands = load_operands(next, of, first_value);
    barrier();

    shared.decays.make_factors();
    FloatSum by_state[VALUE_TILES] = {};
    multiply_rows(shared, tile, is_query, by_state);
    barrier();

    UNROLL for (i32 i = 0; i < VALUE_TILES * FLOAT_SUMS; i++) {
      i32 t = 16 * tile + sum_row(i % FLOAT_SUMS), n = 8 * (i / FLOAT_SUMS) + sum_column(i % FLOAT_SUMS);
      f32& sum = by_state[i / FLOAT_SUMS].at[i % FLOAT_SUMS];
      sum *= shared.decays.grown[t];
      if (!is_query) shared.values[t][n] = shared.beta[t] * (shared.values[t][n] - sum);
    }
    if (!is_query && lane() < 16) invert_block(shared, tile, lane());
    barrier();

    if (warp < VALUE_TILES) solve_columns(shared, 8 * warp);
    barrier();

    if (is_query) {
      multiply_floats<VALUE_TILES>(by_state, 16 * (tile + 1), [&](i32 row, i32 k) { return shared.seen[16 * tile + row][k]; },
                                   [&](i32 k, i32 n) { return shared.values[k][n]; });
      UNROLL for (i32 i = 0; i < VALUE_TILES * FLOAT_SUMS; i++) {
        i32 t = 16 * tile + sum_row(i % FLOAT_SUMS), n = 8 * (i / FLOAT_SUMS) + sum_column(i % FLOAT_SUMS);
        if (t >= chunk.count) continue;
        out[(i64(chunk.first + t) * heads + head) * VALUE_SIZE + first_value + n] = by_state[i / FLOAT_SUMS].at[i % FLOAT_SUMS];
      }
    }
    update_state(shared, warp * OWN_COLUMNS);
    barrier();
    chunk = next;
  }
  for (i32 i = thread(); i < SLICE * KEY_SIZE; i += THREADS) stored[i] = shared.state[i / KEY_SIZE][i % KEY_SIZE];
}

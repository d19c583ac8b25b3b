// Attention of many rows over a paged cache of f16 values, or of blocks that are decoded to those, on the matrix cores: a
// wave has 16 rows of one head, and all waves of a block walk together over tiles of KEYS positions with an online softmax
// (Dao 2022). Rows of several sequences may meet in a block: it walks over each sequence's positions, of which the others'
// rows see nothing, and writes its rows' results, as results.h has them.
//
//   KEY, VALUE   sizes of a head, multiples of 32       GROUP   query heads of a key head
//   LATENT       1 where a position's values are the first elements of its keys      ALIBI   1 where distances are biased
#define WAVES 4
#define THREADS (WAVES * MATRIX_LANES)
#define TILE_ROWS (16 * WAVES)
#include "attention-tiles.h"

constexpr i32 KEY_LINE = LINE_OCTETS(KEY), VALUE_LINE = LINE_OCTETS(KEYS), SCORE_LINE = KEYS + 4;
constexpr i32 KEY_TILES = KEYS / 16, VALUE_TILES = VALUE / 16;

struct Shared {
  u32x4 keys[KEYS * KEY_LINE];
  /// Transposed: a line is an element of the values, over positions.
  u32x4 values[VALUE * VALUE_LINE];
  u32x4 weights[WAVES][16 * VALUE_LINE];
  f32 scores[WAVES][16 * SCORE_LINE];
  f32 factors[WAVES][16];
  i64 cells[2][KEYS];
  i32 slots[TILE_ROWS], positions[TILE_ROWS];
};

constexpr i32 KEY_OCTETS = KEYS * (KEY / 8), VALUE_PAIRS = KEYS / 2 * (VALUE / 8);
constexpr i32 OWN_KEYS = (KEY_OCTETS + THREADS - 1) / THREADS, OWN_PAIRS = (VALUE_PAIRS + THREADS - 1) / THREADS;
struct OwnValues {
  Octet even[OWN_PAIRS], odd[OWN_PAIRS];
};

/// Starts to load a tile's keys.
DEVICE void load_keys(Shared& shared, const Cache& cache, const i64* cells) {
  i32 own_thread = opaque(thread());
#if CACHE >= 2
  Octet taken[OWN_KEYS];
  UNROLL for (i32 k = 0; k < OWN_KEYS; k++) {
    i32 i = min_of(k * THREADS + own_thread, KEY_OCTETS - 1);
    taken[k] = load_octet<KEY, KEYS_AS>(cache.keys, cache.key_scales, cells[i / (KEY / 8)], i % (KEY / 8));
  }
#else
  SharedAddress keys = shared_address(shared.keys);
#endif
  UNROLL for (i32 k = 0; k < OWN_KEYS; k++) {
    i32 i = k * THREADS + own_thread, line = i / (KEY / 8), octet = i % (KEY / 8);
    if (KEY_OCTETS % THREADS != 0 && i >= KEY_OCTETS) continue;
#if CACHE >= 2
    shared.keys[line * KEY_LINE + octet] = octet_to_half(taken[k]);
#else
    cp_async_16(keys + 16 * (line * KEY_LINE + octet), cache.keys + cells[line] * KEY + 8 * octet);
#endif
  }
  cp_async_commit();
}

/// Takes a tile's values into registers.
DEVICE void load_values(OwnValues& own, const Cache& cache, const i64* cells) {
  i32 own_thread = opaque(thread());
  UNROLL for (i32 k = 0; k < OWN_PAIRS; k++) {
    i32 i = min_of(k * THREADS + own_thread, VALUE_PAIRS - 1), pair = i % (KEYS / 2), octet = i / (KEYS / 2);
    own.even[k] = load_octet<VALUE_STRIDE, VALUES_AS>(cache.values, cache.value_scales, cells[2 * pair], octet);
    own.odd[k] = load_octet<VALUE_STRIDE, VALUES_AS>(cache.values, cache.value_scales, cells[2 * pair + 1], octet);
  }
}

/// Transposes the values: two positions' elements in a word.
DEVICE void store_values(Shared& shared, const OwnValues& own) {
  u32* transposed = reinterpret_cast<u32*>(shared.values);
  i32 own_thread = opaque(thread());
  UNROLL for (i32 k = 0; k < OWN_PAIRS; k++) {
    i32 i = k * THREADS + own_thread, pair = i % (KEYS / 2), octet = i / (KEYS / 2);
    if (VALUE_PAIRS % THREADS != 0 && i >= VALUE_PAIRS) continue;
    u32x4 evens = octet_to_half(own.even[k]), odds = octet_to_half(own.odd[k]);
    u32 even[4] = {evens.x, evens.y, evens.z, evens.w};
    u32 odd[4] = {odds.x, odds.y, odds.z, odds.w};
    UNROLL for (i32 w = 0; w < 4; w++) {
      u32* to = transposed + (8 * octet + 2 * w) * (4 * VALUE_LINE) + pair;
      to[0] = (even[w] & 0xffff) | (odd[w] << 16);
      to[4 * VALUE_LINE] = (even[w] >> 16) | (odd[w] & 0xffff0000u);
    }
  }
}

/// The online softmax of a row; every lane that works on the row holds it.
struct RowState {
  f32 largest, total;
};

/// The softmax weights of a wave's scores, and the factors that rescale earlier sums.
DEVICE void softmax_tile(Shared& shared, i32 wave, const Scores& of, RowState& state) {
  constexpr i32 LANES_A_ROW = MATRIX_LANES / 16, OWN = KEYS / LANES_A_ROW;
  i32 lane_in_wave = thread() % MATRIX_LANES, row = lane_in_wave / LANES_A_ROW, part = lane_in_wave % LANES_A_ROW;
  f32* scores = shared.scores[wave] + row * SCORE_LINE;
  for (i32 i = of.soft_cap > 0 ? part : KEYS; i < KEYS; i += LANES_A_ROW) {
    if (scores[i] > LOWEST) scores[i] = capped(scores[i], of);
  }
  f32 largest = state.largest;
  UNROLL for (i32 i = 0; i < OWN / 2; i++) {
    f32x2 pair = reinterpret_cast<const f32x2*>(scores)[((i + row / 2) % (OWN / 2)) * LANES_A_ROW + part];
    largest = max_of(largest, max_of(pair.x, pair.y));
  }
  UNROLL for (i32 step = LANES_A_ROW / 2; step > 0; step >>= 1) largest = max_of(largest, shuffle_xor(largest, step));
  f32 factor = softmax_weight(state.largest - largest), total = 0;
  u32* weights = reinterpret_cast<u32*>(shared.weights[wave] + row * VALUE_LINE);
  UNROLL for (i32 i = 0; i < OWN / 2; i++) {
    // Each row begins elsewhere, to avoid bank conflicts.
    i32 at = ((i + row / 2) % (OWN / 2)) * LANES_A_ROW + part;
    f32x2 pair = reinterpret_cast<const f32x2*>(scores)[at];
    f32 even = pair.x > LOWEST ? softmax_weight(pair.x - largest) : 0.0f;
    f32 odd = pair.y > LOWEST ? softmax_weight(pair.y - largest) : 0.0f;
    weights[at] = pack_half2(even, odd);
    total += even + odd;
  }
  UNROLL for (i32 step = LANES_A_ROW / 2; step > 0; step >>= 1) total += shuffle_xor(total, step);
  state = {largest, state.total * factor + total};
  if (part == 0) shared.factors[wave][row] = factor;
}

KERNEL_RESIDENT(attention_tiles, THREADS, (KEY <= 128 ? 3 : 1), const i32* count, const f32* q, const i32* slots, const i32* positions, const i32* blocks,
       i32 blocks_per_slot, i32 block_size, i32 cells, const CacheElement* keys, const CacheElement* values, u16* out, i32 kv_heads, SCORE_PARAMETERS) {
  const Scores of = SCORES;
  DYNAMIC_SHARED(memory);
  Shared& shared = *reinterpret_cast<Shared*>(memory);
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  i32 first_row = block_row_of(used, TILE_ROWS), head = block_x(), heads = kv_heads * GROUP;
  if (first_row < 0) return;
  i32 rows = min_of(TILE_ROWS, used - first_row), wave = thread() / MATRIX_LANES;
  for (i32 i = thread(); i < TILE_ROWS; i += THREADS) {
    shared.slots[i] = i < rows ? slots[first_row + i] : -1;
    shared.positions[i] = i < rows ? positions[first_row + i] : -1;
  }
  f32 scales[MATRIX_LINES];
  UNROLL for (i32 l = 0; l < MATRIX_LINES; l++) {
    scales[l] = scale_at(positions[min_of(first_row + 16 * wave + matrix_line(l), used - 1)], of);
  }
  Fragment queries[KEY / 32];
  UNROLL for (i32 step = 0; step < KEY / 32; step++) {
    queries[step] = load_queries(q + i64(head) * KEY, i64(heads) * KEY, first_row + 16 * wave, used - 1, step, scales);
  }
  Cache cache = {blocks, blocks_per_slot, block_size, kv_heads, head / GROUP, keys, values,
                 scale_plane(keys, cells, kv_heads * KEY), scale_plane(values, cells, kv_heads * VALUE_STRIDE)};
  RowState state = {LOWEST, 0};
  [[maybe_unused]] f32 slope = alibi_slope(head, of);
  barrier();
  u64 done = 0;
  for (i32 leader = 0; leader < rows; leader++) {
    if ((done >> leader) & 1) continue;
    i32 slot = shared.slots[leader], first = shared.positions[leader], last = first;
    for (i32 i = leader; i < rows; i++) {
      if (shared.slots[i] != slot) continue;
      done |= u64(1) << i;
      first = min_of(first, shared.positions[i]);
      last = max_of(last, shared.positions[i]);
    }
    first = first_visible(first, of);
    // The others' rows take part with weights of zero, which make no zero of what is no number: their sums are unused.
    MatrixSum sums[VALUE_TILES] = {};
    i32 buffer = 0;
    cache.find(shared.cells[buffer], slot, first, last);
    barrier();
    for (i32 at = first; at <= last; at += KEYS) {
      OwnValues own;
      load_keys(shared, cache, shared.cells[buffer]);
      load_values(own, cache, shared.cells[buffer]);
      buffer ^= 1;
      if (at + KEYS <= last) cache.find(shared.cells[buffer], slot, at + KEYS, last);
      store_values(shared, own);
      cp_async_wait<0>();
      barrier();
      UNROLL for (i32 tile = 0; tile < KEY_TILES; tile++) {
        MatrixSum scores = {};
        UNROLL for (i32 step = 0; step < KEY / 32; step++) {
          multiply(scores, queries[step], load_fragment<KEY_LINE>(shared.keys, 16 * tile, step));
          schedule_barrier();
        }
        UNROLL for (i32 i = 0; i < MATRIX_SUMS; i++) {
          i32 row = matrix_row(i), column = 16 * tile + matrix_column(i), own = shared.positions[16 * wave + row];
          bool seen = shared.slots[16 * wave + row] == slot && is_visible(own, at + column, of);
          shared.scores[wave][row * SCORE_LINE + column] = seen ? biased(scores.at[i], slope, at + column - own) : LOWEST;
        }
      }
      warp_barrier();
      softmax_tile(shared, wave, of, state);
      warp_barrier();
      UNROLL for (i32 i = 0; i < MATRIX_SUMS; i++) {
        f32 factor = shared.factors[wave][matrix_row(i)];
        UNROLL for (i32 tile = 0; tile < VALUE_TILES; tile++) sums[tile].at[i] *= factor;
      }
      UNROLL for (i32 step = 0; step < KEYS / 32; step++) {
        Fragment weights = load_fragment<VALUE_LINE>(shared.weights[wave], 0, step);
        UNROLL for (i32 tile = 0; tile < VALUE_TILES; tile++) {
          multiply(sums[tile], weights, load_fragment<VALUE_LINE>(shared.values, 16 * tile, step));
          schedule_barrier();
        }
      }
      barrier();
    }
    if (thread() % (MATRIX_LANES / 16) == 0) {
      shared.factors[wave][thread() % MATRIX_LANES / (MATRIX_LANES / 16)] = 1.0f / denominator(state.largest, state.total, head, of);
    }
    warp_barrier();
    // The tiles' memory is free: the results go through it.
    u16* results = reinterpret_cast<u16*>(memory) + wave * (16 * VALUE);
    UNROLL for (i32 i = 0; i < MATRIX_SUMS; i++) {
      f32 factor = shared.factors[wave][matrix_row(i)];
      UNROLL for (i32 tile = 0; tile < VALUE_TILES; tile++) {
        i32 element = 16 * tile + matrix_column(i);
        results[matrix_row(i) * VALUE + element] = rounded(sums[tile].at[i] * factor);
      }
    }
    warp_barrier();
    for (i32 i = thread() % MATRIX_LANES; i < 16 * (VALUE / 4); i += MATRIX_LANES) {
      i32 row = 16 * wave + i / (VALUE / 4), element = 4 * (i % (VALUE / 4));
      if (shared.slots[row] != slot) continue;
      store_results(out, first_row + row, heads * VALUE, head * VALUE + element, reinterpret_cast<const u32x2*>(results)[i]);
    }
    // The next sequence's tiles go where the results were.
    barrier();
  }
}

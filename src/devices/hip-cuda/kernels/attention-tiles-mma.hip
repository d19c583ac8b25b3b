// Attention as `attention-tiles.hip` computes it, for NVIDIA's matrix cores: a lane holds of the scores what it multiplies with the
// values, so that they never leave its registers (FlashAttention-2, Dao 2023), and the next tile is copied while one is computed.
// HEADS query heads of a key head share a block's tiles.
//
//   KEY, VALUE   sizes of a head, multiples of 32       GROUP   query heads of a key head
//   LATENT       1 where a position's values are the first elements of its keys      ALIBI   1 where distances are biased
#define ROW_WAVES 4
#define WAVES (ROW_WAVES * HEADS)
#define THREADS (WAVES * 32)
#define TILE_ROWS (16 * ROW_WAVES)
#include "attention-tiles-mma.h"

/// Lines of values are an octet longer than they are, for `load_transposed`.
constexpr i32 KEY_LINE = LINE_OCTETS(KEY), VALUE_LINE = VALUE / 8 + 1;
constexpr i32 KEY_TILES = KEYS / 16, VALUE_TILES = VALUE / 16;

struct Shared {
  u32x4 keys[2][KEYS * KEY_LINE];
  u32x4 values[2][KEYS * VALUE_LINE];
  i64 cells[2][KEYS];
  i32 slots[TILE_ROWS], positions[TILE_ROWS];
};

/// Starts to copy SIZE elements of each of a tile's cells, or decodes them.
template <i32 SIZE, i32 STRIDE, i32 LINE, i32 TYPE>
DEVICE void load_tile(u32x4* tile, const CacheElement* cache, [[maybe_unused]] ScalePlane scales, const i64* cells) {
  constexpr i32 OCTETS = KEYS * (SIZE / 8), OWN = (OCTETS + THREADS - 1) / THREADS;
#if CACHE >= 2
  Octet taken[OWN];
  UNROLL for (i32 k = 0; k < OWN; k++) {
    i32 i = min_of(k * THREADS + i32(thread()), OCTETS - 1);
    taken[k] = load_octet<STRIDE, TYPE>(cache, scales, cells[i / (SIZE / 8)], i % (SIZE / 8));
  }
#else
  SharedAddress address = shared_address(tile);
#endif
  UNROLL for (i32 k = 0; k < OWN; k++) {
    i32 i = k * THREADS + i32(thread()), line = i / (SIZE / 8), octet = i % (SIZE / 8);
    if (OCTETS % THREADS != 0 && i >= OCTETS) continue;
#if CACHE >= 2
    tile[line * LINE + octet] = octet_to_half(taken[k]);
#else
    cp_async_16(address + 16 * (line * LINE + octet), cache + cells[line] * STRIDE + 8 * octet);
#endif
  }
}

DEVICE void load_tiles(Shared& shared, i32 buffer, const Cache& cache) {
  const i64* cells = shared.cells[buffer];
  load_tile<KEY, KEY, KEY_LINE, KEYS_AS>(shared.keys[buffer], cache.keys, cache.key_scales, cells);
  load_tile<VALUE, VALUE_STRIDE, VALUE_LINE, VALUES_AS>(shared.values[buffer], cache.values, cache.value_scales, cells);
}

/// Adds the values of a tile, weighted: a lane's weights of 16 positions are what a product wants of its left side.
DEVICE void add_values(MatrixSum* sums, const MatrixSum* weights, SharedAddress values) {
  i32 own_lane = lane();
  SharedAddress own = values + 16 * ((own_lane & 15) * VALUE_LINE + (own_lane >> 4));
  UNROLL for (i32 tile = 0; tile < KEY_TILES; tile++) {
    const f32* at = weights[tile].at;
    u32 a[4] = {pack_half2(at[0], at[1]), pack_half2(at[2], at[3]), pack_half2(at[4], at[5]), pack_half2(at[6], at[7])};
    UNROLL for (i32 n = 0; n < VALUE_TILES; n++) {
      u32x4 b = load_transposed(own + 16 * (16 * tile * VALUE_LINE + 2 * n));
      multiply_eight(sums[n].at, a[0], a[1], a[2], a[3], b.x, b.y);
      multiply_eight(sums[n].at + 4, a[0], a[1], a[2], a[3], b.z, b.w);
    }
  }
}

KERNEL_RESIDENT(attention_tiles, THREADS, (HEADS > 1 ? 1 : 2), const i32* count, const f32* q, const i32* slots, const i32* positions, const i32* blocks,
       i32 blocks_per_slot, i32 block_size, i32 cells, const CacheElement* keys, const CacheElement* values, u16* out, i32 kv_heads, SCORE_PARAMETERS) {
  const Scores of = SCORES;
  DYNAMIC_SHARED(memory);
  Shared& shared = *reinterpret_cast<Shared*>(memory);
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  i32 block_row = block_row_of(used, TILE_ROWS), wave = thread() / 32, heads = kv_heads * GROUP;
  if (block_row < 0) return;
  i32 head = i32(block_x()) * HEADS + wave / ROW_WAVES, wave_row = 16 * (wave % ROW_WAVES), first_row = block_row + wave_row;
  i32 rows = min_of(TILE_ROWS, used - block_row);
  for (i32 i = thread(); i < TILE_ROWS; i += THREADS) {
    shared.slots[i] = i < rows ? slots[block_row + i] : -1;
    shared.positions[i] = i < rows ? positions[block_row + i] : -1;
  }
  f32 scales[MATRIX_LINES];
  UNROLL for (i32 l = 0; l < MATRIX_LINES; l++) scales[l] = scale_at(positions[min_of(first_row + matrix_line(l), used - 1)], of);
  Fragment queries[KEY / 32];
  UNROLL for (i32 step = 0; step < KEY / 32; step++) {
    queries[step] = load_queries(q + i64(head) * KEY, i64(heads) * KEY, first_row, used - 1, step, scales);
  }
  Cache cache = {blocks, blocks_per_slot, block_size, kv_heads, head / GROUP, keys, values,
                 scale_plane(keys, cells, kv_heads * KEY), scale_plane(values, cells, kv_heads * VALUE_STRIDE)};
  RowStates state = {{LOWEST, LOWEST}, {0, 0}};
  [[maybe_unused]] f32 slopes[2] = {alibi_slope(head, of), alibi_slope(head, of)};
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
    Limits limits;
    limits.find(shared.slots, shared.positions, slot, [&](i32 l) { return wave_row + matrix_line(l); });
    // The others' rows take part with weights of zero, which make no zero of what is no number: their sums are unused.
    MatrixSum sums[VALUE_TILES] = {};
    cache.find(shared.cells[0], slot, first, last);
    cache.find(shared.cells[1], slot, first + KEYS, last);
    barrier();
    load_tiles(shared, 0, cache);
    cp_async_commit();
    i32 buffer = 0;
    for (i32 at = first; at <= last; at += KEYS) {
      // This tile is there, and nobody needs the previous one or the cells of this one any more.
      cp_async_wait<0>();
      barrier();
      if (at + KEYS <= last) load_tiles(shared, buffer ^ 1, cache);
      cp_async_commit();
      if (at + 2 * KEYS <= last) cache.find(shared.cells[buffer], slot, at + 2 * KEYS, last);
      if (at <= limits.highest) {
        MatrixSum scores[KEY_TILES] = {};
        UNROLL for (i32 step = 0; step < KEY / 32; step++) {
          UNROLL for (i32 tile = 0; tile < KEY_TILES; tile++) {
            multiply(scores[tile], queries[step], load_fragment<KEY_LINE>(shared.keys[buffer], 16 * tile, step));
          }
        }
        adjust<KEY_TILES>(scores, at, limits, slopes, of);
        f32 largest[2];
        UNROLL for (i32 l = 0; l < 2; l++) largest[l] = max_of(state.largest[l], largest_score<KEY_TILES>(scores, l));
        weigh<KEY_TILES, VALUE_TILES>(scores, sums, state, largest);
        add_values(sums, scores, shared_address(shared.values[buffer]));
      }
      buffer ^= 1;
    }
    barrier();
    // The tiles' memory is free: the results go through it.
    u16* results = reinterpret_cast<u16*>(memory) + wave * (16 * VALUE);
    UNROLL for (i32 l = 0; l < 2; l++) {
      f32 factor = 1.0f / denominator(state.largest[l], whole_total(state, l), head, of);
      UNROLL for (i32 i = 0; i < MATRIX_SUMS; i++) {
        if (own_row(i) != l) continue;
        UNROLL for (i32 tile = 0; tile < VALUE_TILES; tile++) {
          i32 element = 16 * tile + matrix_column(i);
          results[matrix_row(i) * VALUE + element] = rounded(sums[tile].at[i] * factor);
        }
      }
    }
    warp_barrier();
    for (i32 i = lane(); i < 16 * (VALUE / 4); i += 32) {
      i32 row = wave_row + i / (VALUE / 4), element = 4 * (i % (VALUE / 4));
      if (shared.slots[row] != slot) continue;
      store_results(out, block_row + row, heads * VALUE, head * VALUE + element, reinterpret_cast<const u32x2*>(results)[i]);
    }
    // The next sequence's tiles go where the results were.
    barrier();
  }
}

// Attention as `attention-tiles-mma.hip` computes it, for heads that are too wide for its registers: queries stay in shared memory, and
// two waves share sixteen lines. Each computes the scores of one half of a tile's positions, and sums one half of the values'
// columns; the softmax weights of both meet in shared memory. The lines of a block are HEADS query heads of a key head for each of
// its rows, so that all of them multiply one tile: of latents, which all heads share, the more.
//
//   KEY, VALUE   sizes of a head, multiples of 64 and of 128       GROUP   query heads of a key head, a multiple of HEADS
//   LATENT       1 where a position's values are the first elements of its keys      ALIBI   1 where distances are biased
#define LINE_WAVES 4
#define COLUMN_WAVES 2
#define THREADS (32 * LINE_WAVES * COLUMN_WAVES)
#define LINES (16 * LINE_WAVES)
#define TILE_ROWS (LINES / HEADS)
#include "attention-tiles-mma.h"

constexpr i32 KEY_OCTETS = KEY / 8, VALUE_OCTETS = VALUE_STRIDE / 8, WEIGHT_OCTETS = KEYS / 8;
#if LATENT
constexpr i32 TILE_OCTETS = KEYS * KEY_OCTETS;
#else
constexpr i32 TILE_OCTETS = KEYS * (KEY_OCTETS + VALUE_OCTETS);
#endif
/// Of a wave.
constexpr i32 SCORE_TILES = KEYS / 16 / COLUMN_WAVES, VALUE_TILES = VALUE / 16 / COLUMN_WAVES;

/// Tiles of halves, whose octets lie as `place_of` says; those of values follow those of keys.
struct Shared {
  u32x4 queries[LINES * KEY_OCTETS];
  u32x4 tiles[2][TILE_OCTETS];
  u32x4 weights[LINES * WEIGHT_OCTETS];
  i64 cells[2][KEYS];
  /// What each of the waves that share a line has of its largest score, or of its total.
  f32 parts[COLUMN_WAVES][LINES];
  i32 slots[TILE_ROWS], positions[TILE_ROWS];
};

/// The place of an octet of a line of OCTETS: those of one index of neighbouring lines lie in different banks.
template <i32 OCTETS>
DEVICE i32 place_of(i32 line, i32 octet) {
  return line * OCTETS + (octet ^ (line & (OCTETS % 8 == 0 ? 7 : 3)));
}

/// Where a lane finds its octets of sixteen lines, as `load_lines` and `load_transposed` want them.
template <i32 OCTETS>
struct LaneOctets {
  SharedAddress at[4];

  /// `first_line` is a multiple of 16, `first_octet` one of eight.
  DEVICE_MEMBER void find(u32x4* tile, i32 first_line, i32 first_octet) {
    i32 own = lane(), line = first_line + (own & 15);
    SharedAddress start = shared_address(tile);
    UNROLL for (i32 j = 0; j < 4; j++) at[j] = start + 16 * place_of<OCTETS>(line, first_octet + 2 * j + (own >> 4));
  }

  /// Of the n-th two octets, `further` lines on.
  DEVICE_MEMBER SharedAddress pair(i32 n, i32 further = 0) const { return at[n & 3] + 16 * (further * OCTETS + 8 * (n >> 2)); }
};

/// Starts to copy SIZE elements of each of a tile's cells, or decodes them.
template <i32 SIZE, i32 STRIDE, i32 TYPE>
DEVICE void load_tile(u32x4* tile, const CacheElement* cache, [[maybe_unused]] ScalePlane scales, const i64* cells) {
  constexpr i32 OCTETS = SIZE / 8, OWN = KEYS * OCTETS / THREADS;
#if CACHE >= 2
  constexpr i32 AT_ONCE = 4;
  UNROLL for (i32 first = 0; first < OWN; first += AT_ONCE) {
    Octet taken[AT_ONCE];
    UNROLL for (i32 k = first; k < first + AT_ONCE && k < OWN; k++) {
      i32 i = k * THREADS + i32(thread());
      taken[k - first] = load_octet<STRIDE, TYPE>(cache, scales, cells[i / OCTETS], i % OCTETS);
    }
    UNROLL for (i32 k = first; k < first + AT_ONCE && k < OWN; k++) {
      i32 i = k * THREADS + i32(thread());
      tile[place_of<OCTETS>(i / OCTETS, i % OCTETS)] = octet_to_half(taken[k - first]);
    }
  }
#else
  SharedAddress address = shared_address(tile);
  UNROLL for (i32 k = 0; k < OWN; k++) {
    i32 i = k * THREADS + i32(thread()), line = i / OCTETS, octet = i % OCTETS;
    cp_async_16(address + 16 * place_of<OCTETS>(line, octet), cache + cells[line] * STRIDE + 8 * octet);
  }
#endif
}

DEVICE void load_tiles(Shared& shared, i32 buffer, const Cache& cache) {
  const i64* cells = shared.cells[buffer];
  load_tile<KEY, KEY, KEYS_AS>(shared.tiles[buffer], cache.keys, cache.key_scales, cells);
#if !LATENT
  u32x4* values = shared.tiles[buffer] + KEYS * KEY_OCTETS;
  load_tile<VALUE, VALUE_STRIDE, VALUES_AS>(values, cache.values, cache.value_scales, cells);
#endif
}

/// Adds the products of sixteen lines `a` with sixteen columns `b`, over 16 values of k.
DEVICE void multiply_lines(MatrixSum& sum, const u32x4& a, u32 left0, u32 left1, u32 right0, u32 right1) {
  multiply_eight(sum.at, a.x, a.y, a.z, a.w, left0, left1);
  multiply_eight(sum.at + 4, a.x, a.y, a.z, a.w, right0, right1);
}

/// What a wave works on: sixteen lines from `line` on, and of tiles and values the part `column`.
struct Wave {
  i32 line, column;

  DEVICE_MEMBER void score(MatrixSum* scores, Shared& shared, i32 buffer) const {
    LaneOctets<KEY_OCTETS> queries, keys;
    queries.find(shared.queries, line, 0);
    keys.find(shared.tiles[buffer], 16 * SCORE_TILES * column, 0);
    UNROLL for (i32 k = 0; k < KEY / 16; k++) {
      u32x4 a = load_lines(queries.pair(k));
      UNROLL for (i32 tile = 0; tile < SCORE_TILES; tile++) {
        u32x4 b = load_lines(keys.pair(k, 16 * tile));
        multiply_lines(scores[tile], a, b.x, b.z, b.y, b.w);
      }
    }
  }

  /// Hands a wave's softmax weights to both that share its lines.
  DEVICE_MEMBER void store_weights(Shared& shared, const MatrixSum* weights) const {
    u32* words = reinterpret_cast<u32*>(shared.weights);
    UNROLL for (i32 tile = 0; tile < SCORE_TILES; tile++) {
      UNROLL for (i32 i = 0; i < MATRIX_SUMS; i += 2) {
        i32 octet = 2 * (SCORE_TILES * column + tile) + (i >> 2);
        i32 place = place_of<WEIGHT_OCTETS>(line + matrix_row(i), octet);
        words[4 * place + (lane() & 3)] = pack_half2(weights[tile].at[i], weights[tile].at[i + 1]);
      }
    }
  }

  DEVICE_MEMBER void add_values(MatrixSum* sums, Shared& shared, i32 buffer) const {
    LaneOctets<WEIGHT_OCTETS> weights;
    LaneOctets<VALUE_OCTETS> values;
    weights.find(shared.weights, line, 0);
    values.find(shared.tiles[buffer] + TILE_OCTETS - KEYS * VALUE_OCTETS, 0, 2 * VALUE_TILES * column);
    UNROLL for (i32 k = 0; k < KEYS / 16; k++) {
      u32x4 a = load_lines(weights.pair(k));
      UNROLL for (i32 n = 0; n < VALUE_TILES; n++) {
        u32x4 b = load_transposed(values.pair(n, 16 * k));
        multiply_lines(sums[n], a, b.x, b.y, b.z, b.w);
      }
    }
  }

  /// The sum, or the larger, of what the waves that share a line left for it.
  DEVICE_MEMBER f32 part(const Shared& shared, i32 of, i32 l) const { return shared.parts[of][line + matrix_line(l)]; }
  DEVICE_MEMBER void leave_part(Shared& shared, i32 l, f32 value) const {
    if ((lane() & 3) == 0) shared.parts[column][line + matrix_line(l)] = value;
  }
};

/// The rows' queries, scaled, line by line.
DEVICE void load_queries(Shared& shared, const f32* q, i32 block_row, i32 used, i32 head, i32 heads, const Scores& of) {
  for (i32 i = thread(); i < LINES * KEY_OCTETS; i += THREADS) {
    i32 line = i / KEY_OCTETS, octet = i % KEY_OCTETS, row = min_of(line / HEADS, used - 1 - block_row);
    const f32* from = q + (i64(block_row + row) * heads + head + line % HEADS) * KEY + 8 * octet;
    f32 scale = scale_at(shared.positions[row], of);
    f32x4 low = reinterpret_cast<const f32x4*>(from)[0], high = reinterpret_cast<const f32x4*>(from)[1];
    auto pair = [&](f32 a, f32 b) { return pack_half2(clamp_half(a * scale), clamp_half(b * scale)); };
    shared.queries[place_of<KEY_OCTETS>(line, octet)] = {pair(low.x, low.y), pair(low.z, low.w), pair(high.x, high.y),
                                                         pair(high.z, high.w)};
  }
}

KERNEL_RESIDENT(attention_tiles, THREADS, 1, const i32* count, const f32* q, const i32* slots, const i32* positions, const i32* blocks,
       i32 blocks_per_slot, i32 block_size, i32 cells, const CacheElement* keys, const CacheElement* values, u16* out, i32 kv_heads, SCORE_PARAMETERS) {
  const Scores of = SCORES;
  DYNAMIC_SHARED(memory);
  Shared& shared = *reinterpret_cast<Shared*>(memory);
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  i32 block_row = block_row_of(used, TILE_ROWS), heads = kv_heads * GROUP;
  if (block_row < 0) return;
  i32 head = i32(block_x()) * HEADS, rows = min_of(TILE_ROWS, used - block_row);
  Wave wave = {16 * (i32(thread() / 32) % LINE_WAVES), i32(thread() / 32) / LINE_WAVES};
  for (i32 i = thread(); i < TILE_ROWS; i += THREADS) {
    shared.slots[i] = i < rows ? slots[block_row + i] : -1;
    shared.positions[i] = i < rows ? positions[block_row + i] : -1;
  }
  Cache cache = {blocks, blocks_per_slot, block_size, kv_heads, head / GROUP, keys, values,
                 scale_plane(keys, cells, kv_heads * KEY), scale_plane(values, cells, kv_heads * VALUE_STRIDE)};
  auto row_of = [&](i32 l) { return (wave.line + matrix_line(l)) / HEADS; };
  auto head_of = [&](i32 l) { return head + (wave.line + matrix_line(l)) % HEADS; };
  [[maybe_unused]] f32 slopes[2] = {alibi_slope(head_of(0), of), alibi_slope(head_of(1), of)};
  barrier();
  load_queries(shared, q, block_row, used, head, heads, of);
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
    limits.find(shared.slots, shared.positions, slot, row_of);
    RowStates state = {{LOWEST, LOWEST}, {0, 0}};
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
      bool seen = at <= limits.highest;
      MatrixSum scores[SCORE_TILES] = {};
      if (seen) {
        wave.score(scores, shared, buffer);
        adjust<SCORE_TILES>(scores, at + 16 * SCORE_TILES * wave.column, limits, slopes, of);
        UNROLL for (i32 l = 0; l < 2; l++) wave.leave_part(shared, l, largest_score<SCORE_TILES>(scores, l));
      }
      barrier();
      if (seen) {
        f32 largest[2];
        UNROLL for (i32 l = 0; l < 2; l++) {
          largest[l] = max_of(state.largest[l], max_of(wave.part(shared, 0, l), wave.part(shared, 1, l)));
        }
        weigh<SCORE_TILES, VALUE_TILES>(scores, sums, state, largest);
        wave.store_weights(shared, scores);
      }
      barrier();
      if (seen) wave.add_values(sums, shared, buffer);
      buffer ^= 1;
    }
    UNROLL for (i32 l = 0; l < 2; l++) wave.leave_part(shared, l, whole_total(state, l));
    barrier();
    UNROLL for (i32 l = 0; l < 2; l++) {
      if (shared.slots[row_of(l)] != slot) continue;
      f32 total = wave.part(shared, 0, l) + wave.part(shared, 1, l);
      f32 factor = 1.0f / denominator(state.largest[l], total, head_of(l), of);
      i32 first_element = head_of(l) * VALUE + 16 * VALUE_TILES * wave.column;
      UNROLL for (i32 n = 0; n < VALUE_TILES; n++) {
        UNROLL for (i32 i = 2 * l; i < MATRIX_SUMS; i += 4) {
          store_results(out, block_row + row_of(l), heads * VALUE, first_element + 16 * n + matrix_column(i), rounded(sums[n].at[i] * factor),
                        rounded(sums[n].at[i + 1] * factor));
        }
      }
    }
    // The next sequence's tiles and totals go where these were.
    barrier();
  }
}

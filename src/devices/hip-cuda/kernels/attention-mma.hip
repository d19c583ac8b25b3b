// Attention of single rows as `attention.hip` computes it, over a cache of f16, for NVIDIA's matrix cores: the query heads of a key
// head are the rows of the products, so that reading the cache is all that takes time (split-KV as in Flash-Decoding; Dao et al.
// 2023). A warp takes sixteen positions at once, each lane whole vectors of them: which of a product's k and columns these are is free.
//
//   KEY, VALUE   sizes of a head, multiples of 64       GROUP   query heads of a key head
//   MERGE        0 one block has the whole context and writes `out`   1 partial results   2 the last block of a row merges them
//   OUT_TYPE     what `out` is: 0 f32   1 quantized rows   2 f16 (1 and 2 only where blocks merge themselves)
//   PLACES       of a row in the block table, each for as many key heads      THREADS   of a block      ALIBI   1 where distances are biased
//   SINGLE_ROW   1 where the row is its step's only one: all earlier positions are cached before; 2 where a warp sees whether it is its
//                sequence's only one, as a step has no more rows than a warp lanes       RESIDENT   blocks of a multiprocessor
//   OWN_TABLE    1 where the launches before compute the rows' positions and block table
#include "attention-merge.h"
#include "matrix.h"
#include "paged-cache.h"

constexpr i32 HEADS = GROUP < 8 ? GROUP : 8;
constexpr i32 HEAD_BLOCKS = (GROUP + HEADS - 1) / HEADS;
constexpr i32 WARPS = THREADS / 32;
/// Positions that a warp takes at once, and a block.
constexpr i32 TILE = 16, BLOCK_TILE = TILE * WARPS;
constexpr i32 KEY_CHUNKS = KEY / 32, VALUE_CHUNKS = VALUE / 64;
/// Where the last block merges, a partition of the context is at least this long, and one of two tiles for each warp stays whole: merging
/// costs as much as so many positions.
constexpr i32 MIN_PARTITION_SIZE = MERGE == 2 ? 128 : 1, MAX_WHOLE = MERGE == 2 ? 2 * BLOCK_TILE : 0;

/// Queries as the left side of products: what an f16 has of an element in rows 0 to 7, the rest of it in rows 8 to 15.
struct Queries {
  u32x4 upper[KEY_CHUNKS][32], lower[KEY_CHUNKS][32];
};

/// What a lane has of sixteen positions: of positions `lane / 4` and 8 more eight elements of every 32 of a key, and of those whose
/// weights it has eight elements of every 64 of a value.
struct Tile {
  u32x4 keys[2][KEY_CHUNKS], values[4][VALUE_CHUNKS];
};

/// Whether registers have room for a tile's keys and values at once, and for those of the next tile besides; a step's only row has so many
/// blocks that they have no other.
constexpr bool LOADS_AT_ONCE = KEY + VALUE <= 256, LOADS_NEXT = LOADS_AT_ONCE && RESIDENT == 1 && SINGLE_ROW != 1;

/// A lane's online softmax of the head `lane / 4`, of whose sums it has sixteen elements of every 64.
struct HeadState {
  f32 largest, total, sums[VALUE_CHUNKS][8][2];
};

/// The position, of a tile's sixteen, of weight `i` of a lane.
DEVICE i32 own_position(i32 i) { return 8 * (i >> 1) + 2 * i32(lane() & 3) + (i & 1); }

struct Context {
  const i32* blocks;
  i32 blocks_per_slot, block_size, slot, last;
  const u16 *keys, *values;
  i64 key_stride, value_stride;

  /// The cell of position `lane % 16` of the sixteen from `base` on; those behind the last one are the last one again.
  DEVICE_MEMBER u32 cell(i32 base) const {
    return u32(cell_of(blocks, blocks_per_slot, block_size, slot, min_of(base + i32(lane() & 15), last)));
  }

  /// Loads sixteen positions, or the keys alone.
  DEVICE_MEMBER void load(Tile& tile, u32 cell) const {
    UNROLL for (i32 j = 0; j < 2; j++) {
      const u16* key = keys + i64(shuffle_from(cell, 8 * j + (lane() >> 2))) * key_stride + 8 * (lane() & 3);
      UNROLL for (i32 c = 0; c < KEY_CHUNKS; c++) tile.keys[j][c] = stream_written_u32x4(reinterpret_cast<const u32x4*>(key + 32 * c));
    }
    UNROLL for (i32 c = 0; c < VALUE_CHUNKS; c++) {
      if (LOADS_AT_ONCE) load_values(tile, cell, c);
    }
  }

  /// Loads elements 64 c to 64 c + 63 of the values.
  DEVICE_MEMBER void load_values(Tile& tile, u32 cell, i32 c) const {
    UNROLL for (i32 i = 0; i < 4; i++) {
      const u16* value = values + i64(shuffle_from(cell, own_position(i))) * value_stride + 64 * c + 8 * (lane() >> 2);
      tile.values[i][c] = stream_written_u32x4(reinterpret_cast<const u32x4*>(value));
    }
  }
};

/// Reads a row's queries, scaled, `used` heads side by side; the other rows are zero.
DEVICE void load_queries(Queries& to, const f32* q, i32 used, f32 scale) {
  for (i32 i = thread(); i < KEY_CHUNKS * 32; i += THREADS) {
    i32 c = i / 32, head = i % 32 / 4, part = i % 4;
    u32 upper[4], lower[4];
    UNROLL for (i32 pair = 0; pair < 4; pair++) {
      f32 elements[2];
      UNROLL for (i32 e = 0; e < 2; e++) {
        elements[e] = head < used ? clamp_half(q[i64(head) * KEY + 32 * c + 8 * part + 2 * pair + e] * scale) : 0.0f;
      }
      upper[pair] = pack_half2(elements[0], elements[1]);
      lower[pair] = pack_half2(elements[0] - half_to_float(u16(upper[pair])), elements[1] - half_to_float(u16(upper[pair] >> 16)));
    }
    to.upper[c][i % 32] = {upper[0], upper[1], upper[2], upper[3]};
    to.lower[c][i % 32] = {lower[0], lower[1], lower[2], lower[3]};
  }
}

/// A word of a lane's vector.
DEVICE u32 word_of(const u32x4& vector, i32 i) { return i == 0 ? vector.x : i == 1 ? vector.y : i == 2 ? vector.z : vector.w; }

/// Element `i` of two vectors side by side.
DEVICE u32 side_by_side(const u32x4& a, const u32x4& b, i32 i) {
  return byte_permute(word_of(a, i / 2), word_of(b, i / 2), i % 2 == 0 ? 0x5410 : 0x7632);
}

/// Adds a tile's positions up to the last one; the biases count from `origin`.
DEVICE void add_tile(HeadState& state, const Queries& queries, const Context& context, Tile& tile, u32 cell, i32 base, f32 slope,
                     i32 origin, const Scores& of) {
  f32 products[2][4] = {};
  UNROLL for (i32 c = 0; c < KEY_CHUNKS; c++) {
    u32x4 upper = queries.upper[c][lane()], lower = queries.lower[c][lane()];
    UNROLL for (i32 j = 0; j < 2; j++) {
      const u32x4& key = tile.keys[j][c];
      multiply_eight(products[j], upper.x, lower.x, upper.y, lower.y, key.x, key.y);
      multiply_eight(products[j], upper.z, lower.z, upper.w, lower.w, key.z, key.w);
    }
  }
  i32 last = context.last;
  f32 weights[4], largest = state.largest;
  UNROLL for (i32 i = 0; i < 4; i++) {
    i32 position = base + own_position(i);
    f32 score = biased(capped(products[i >> 1][i & 1] + products[i >> 1][2 + (i & 1)], of), slope, position - origin);
    weights[i] = position <= last ? score : LOWEST;
    largest = max_of(largest, weights[i]);
  }
  largest = max_of(largest, shuffle_xor(largest, 1));
  largest = max_of(largest, shuffle_xor(largest, 2));
  f32 rescale = softmax_weight(state.largest - largest);
  state.largest = largest;
  state.total *= rescale;
  UNROLL for (i32 i = 0; i < 4; i++) {
    weights[i] = base + own_position(i) <= last ? softmax_weight(weights[i] - largest) : 0.0f;
    state.total += weights[i];
  }
  u32 upper[2], lower[2];
  UNROLL for (i32 j = 0; j < 2; j++) {
    upper[j] = pack_half2(weights[2 * j], weights[2 * j + 1]);
    lower[j] = pack_half2(weights[2 * j] - half_to_float(u16(upper[j])), weights[2 * j + 1] - half_to_float(u16(upper[j] >> 16)));
  }
  UNROLL for (i32 c = 0; c < VALUE_CHUNKS; c++) {
    if (!LOADS_AT_ONCE) context.load_values(tile, cell, c);
    UNROLL for (i32 i = 0; i < 8; i++) {
      u32 first = side_by_side(tile.values[0][c], tile.values[1][c], i), second = side_by_side(tile.values[2][c], tile.values[3][c], i);
      // Rows 8 to 15 stay empty.
      f32 sums[4] = {state.sums[c][i][0] * rescale, state.sums[c][i][1] * rescale, 0, 0};
      multiply_eight(sums, upper[0], 0, upper[1], 0, first, second);
      multiply_eight(sums, lower[0], 0, lower[1], 0, first, second);
      state.sums[c][i][0] = sums[0], state.sums[c][i][1] = sums[1];
    }
  }
}

struct Shared {
  Queries queries;
  RowParts<WARPS, HEADS> parts;
  // Lanes with the same element of neighbouring heads write to different banks.
  f32 sums[WARPS][HEADS][VALUE + 1];
};

KERNEL_RESIDENT(attention, THREADS, RESIDENT, const i32* count, const f32* q, const i32* slots, const i32* positions, const i32* blocks,
                i32 blocks_per_slot, i32 block_size, [[maybe_unused]] i32 cells, const u16* keys, const u16* values, void* out, f32* partials,
                u32* arrivals, i32 capacity, i32 kv_heads, i32 partitions, SCORE_PARAMETERS) {
  const Scores of = SCORES;
  SHARED Shared shared;
  grid_launch_dependents();
#if OWN_TABLE
  grid_dependency_wait();
#endif
  i32 row = block_x();
  if (row >= *count) {
    grid_dependency_wait();
    return;
  }
  i32 kv_head = block_y() / HEAD_BLOCKS, first_of_group = block_y() % HEAD_BLOCKS * HEADS, heads = kv_heads * GROUP;
  i32 head = kv_head * GROUP + first_of_group, used_heads = min_of(HEADS, GROUP - first_of_group);
  // Groups of key heads may have positions of their own.
  i32 place = PLACES == 1 ? row : row * PLACES + kv_head * PLACES / kv_heads;
  i32 position = positions[place], first = first_visible(position, of), length = position + 1 - first;
  i32 partition_size = length <= MAX_WHOLE ? length : max_of((length + partitions - 1) / partitions, MIN_PARTITION_SIZE);
  i32 used_partitions = (length + partition_size - 1) / partition_size;
  i32 begin = first + i32(block_z()) * partition_size, end = min_of(begin + partition_size, position + 1);
  if (MERGE == 2 && begin >= end) {
    grid_dependency_wait();
    return;
  }
  i32 warp = thread() / 32, base = begin + TILE * warp;
  Context context = {blocks, blocks_per_slot, block_size, slots[place], end - 1, keys + kv_head * KEY, values + kv_head * VALUE,
                     i64(kv_heads) * KEY, i64(kv_heads) * VALUE};
  u32 cell = context.cell(base), next = context.cell(base + BLOCK_TILE);
  Tile tile, next_tile;
  // Only the row's own position is not in the cache yet.
  bool is_only = SINGLE_ROW == 1 || (SINGLE_ROW == 2 && is_only_row(slots, *count, row));
  bool loaded = is_only && min_of(base + TILE, end) <= position;
  bool has_next = LOADS_NEXT && is_only && base + BLOCK_TILE < end && min_of(base + BLOCK_TILE + TILE, end) <= position;
  if (loaded) context.load(tile, cell);
  if (has_next) context.load(next_tile, next);
#if !OWN_TABLE
  grid_dependency_wait();
#endif
  load_queries(shared.queries, q + (i64(row) * heads + head) * KEY, used_heads, scale_at(position, of));
  barrier();
  f32 slope = alibi_slope(head + i32(lane() >> 2), of);
  HeadState state = {LOWEST, 0, {}};
  for (; base < end; base += BLOCK_TILE) {
    if (!loaded) context.load(tile, cell);
    loaded = LOADS_NEXT && base + BLOCK_TILE < end;
    if (loaded && !has_next) context.load(next_tile, next);
    has_next = false;
    // That a load waits for another would be half of its time.
    u32 after = context.cell(base + 2 * BLOCK_TILE);
    add_tile(state, shared.queries, context, tile, cell, base, slope, position, of);
    if (loaded) tile = next_tile;
    cell = next, next = after;
  }
  state.total += shuffle_xor(state.total, 1);
  state.total += shuffle_xor(state.total, 2);
  i32 own_head = lane() >> 2, part = lane() & 3;
  if (own_head < HEADS) {
    UNROLL for (i32 c = 0; c < VALUE_CHUNKS; c++) {
      UNROLL for (i32 i = 0; i < 8; i++) {
        UNROLL for (i32 e = 0; e < 2; e++) shared.sums[warp][own_head][64 * c + 16 * part + 8 * e + i] = state.sums[c][i][e];
      }
    }
    if (part == 0) shared.parts.weights[warp][own_head] = {state.largest, state.total};
  }
  finish_row(shared.parts, shared.sums, {out, partials, arrivals + i64(row) * kv_heads * HEAD_BLOCKS + block_y(), capacity, row, heads, head, used_heads,
                            partitions, used_partitions}, of);
}

// Attention of single rows as `attention-mma.hip` computes it, for wide heads, long contexts, and many rows of few query heads a key
// head. Each warp takes sixteen positions at once, which it copies to shared memory of its own: the next keys while it adds values, the
// next values while it multiplies keys. So no warp waits for another, and what is on its way takes no registers. More of it on its way
// gained nothing, and the memory that it took was the cache of the kernels before and after.
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

/// Query heads that share a product's rows and columns, and as many of these as a block takes of a key head.
constexpr i32 ROW_HEADS = 8, ROWS = GROUP > ROW_HEADS ? 2 : 1;
constexpr i32 HEADS = GROUP < ROW_HEADS * ROWS ? GROUP : ROW_HEADS * ROWS;
constexpr i32 HEAD_BLOCKS = (GROUP + HEADS - 1) / HEADS;
constexpr i32 WARPS = THREADS / 32;
/// Positions that a warp takes at once, and a block.
constexpr i32 TILE = 16, BLOCK_TILE = TILE * WARPS;
constexpr i32 KEY_STEPS = KEY / 16, VALUE_STEPS = VALUE / 16;
/// Bytes of a warp's keys and values: a line of halves for each position.
constexpr i32 KEY_BYTES = 2 * TILE * KEY, WARP_BYTES = KEY_BYTES + 2 * TILE * VALUE;
/// Where the last block merges, a partition of the context is at least this long: merging costs as much as so many positions.
constexpr i32 MIN_PARTITION_SIZE = MERGE == 2 ? 128 : 1;

/// Queries as the left sides of products: what an f16 has of an element in rows 0 to 7, the rest of it in rows 8 to 15.
struct Queries {
  u32x4 at[KEY_STEPS][ROWS][32];
};

/// A lane's online softmax of head `lane / 4` of each eight, and its part of the sums: lines are elements of the values, two of every
/// sixteen, columns two heads.
struct HeadState {
  f32 largest[ROWS], total[ROWS], sums[ROWS][VALUE_STEPS][4];
};

/// The position, of a tile's sixteen, of weight `i` of a lane.
DEVICE i32 own_position(i32 i) { return 8 * (i >> 1) + 2 * i32(lane() & 3) + (i & 1); }

/// Where octet `octet` of a line of SIZE halves lies, in bytes: eight lines' octets of one number lie in different banks.
template <i32 SIZE>
DEVICE i32 octet_of(i32 line, i32 octet) {
  return 2 * SIZE * line + 16 * (octet ^ (line & 7));
}

/// A warp's part of the context on its way to shared memory, sixteen positions at a time.
struct Copies {
  const i32* blocks;
  i32 blocks_per_slot, block_size, slot, end;
  const u16 *keys, *values;
  i64 key_stride, value_stride;
  SharedAddress to;
  /// The first of the positions that are copied next, and the cell of the lane's of them; behind the last position it is the last one's.
  i32 base;
  u32 cell;

  DEVICE_MEMBER void start(i32 at) {
    base = at;
    cell = u32(cell_of(blocks, blocks_per_slot, block_size, slot, min_of(base + i32(lane() & 15), end - 1)));
  }

  template <i32 SIZE>
  DEVICE_MEMBER void copy(SharedAddress lines, const u16* from, i64 stride) const {
    constexpr i32 OCTETS = SIZE / 8;
    if (base < end) {
      UNROLL for (i32 i = 0; i < TILE * OCTETS / 32; i++) {
        i32 at = i * 32 + lane(), line = at / OCTETS, octet = at % OCTETS;
        cp_async_16(lines + octet_of<SIZE>(line, octet), from + i64(shuffle_from(cell, line)) * stride + 8 * octet);
      }
    }
    cp_async_commit();
  }
  DEVICE_MEMBER void copy_keys() const { copy<KEY>(to, keys, key_stride); }
  /// Copies the values of the positions whose keys were copied last, and goes on to the next ones.
  DEVICE_MEMBER void copy_values() {
    copy<VALUE>(to + KEY_BYTES, values, value_stride);
    // That a copy waits for another load would be half of its time.
    start(base + BLOCK_TILE);
  }
};

/// Reads a row's queries, scaled, `used` heads side by side; the other rows are zero.
DEVICE void load_queries(Queries& to, const f32* q, i32 used, f32 scale) {
  for (i32 i = thread(); i < KEY_STEPS * ROWS * 32; i += THREADS) {
    i32 step = i / (32 * ROWS), rows = i / 32 % ROWS, head = ROW_HEADS * rows + i % 32 / 4;
    u32 upper[2], lower[2];
    UNROLL for (i32 half = 0; half < 2; half++) {
      const f32* pair = q + i64(head) * KEY + 16 * step + 8 * half + 2 * (i % 4);
      f32 elements[2];
      UNROLL for (i32 e = 0; e < 2; e++) elements[e] = head < used ? clamp_half(pair[e] * scale) : 0.0f;
      upper[half] = pack_half2(elements[0], elements[1]);
      lower[half] = pack_half2(elements[0] - half_to_float(u16(upper[half])), elements[1] - half_to_float(u16(upper[half] >> 16)));
    }
    to.at[step][rows][i % 32] = {upper[0], lower[0], upper[1], lower[1]};
  }
}

/// The weights of a lane's heads and positions as the right sides of products, in two halves as the queries are.
struct Weights {
  u32 upper[ROWS][2], lower[ROWS][2];
  /// Of the columns' heads' earlier sums.
  f32 rescale[ROWS][2];
};

/// Scores sixteen positions, whose keys are `lines` in shared memory, and counts their weights; the biases count from `origin`.
DEVICE void weigh_keys(Weights& to, HeadState& state, const Queries& queries, SharedAddress lines, i32 base, i32 end, const f32* slopes,
                       i32 origin, const Scores& of) {
  f32 products[ROWS][2][4] = {};
  UNROLL for (i32 step = 0; step < KEY_STEPS; step++) {
    u32x4 key = load_lines(lines + octet_of<KEY>(lane() & 15, 2 * step + i32(lane() >> 4)));
    UNROLL for (i32 rows = 0; rows < ROWS; rows++) {
      u32x4 query = queries.at[step][rows][lane()];
      multiply_eight(products[rows][0], query.x, query.y, query.z, query.w, key.x, key.z);
      multiply_eight(products[rows][1], query.x, query.y, query.z, query.w, key.y, key.w);
    }
  }
  UNROLL for (i32 rows = 0; rows < ROWS; rows++) {
    f32 weights[4], largest = state.largest[rows];
    UNROLL for (i32 i = 0; i < 4; i++) {
      i32 position = base + own_position(i);
      f32 product = products[rows][i >> 1][i & 1] + products[rows][i >> 1][2 + (i & 1)];
      f32 score = biased(capped(product, of), slopes[rows], position - origin);
      weights[i] = position < end ? score : LOWEST;
      largest = max_of(largest, weights[i]);
    }
    largest = max_of(largest, shuffle_xor(largest, 1));
    largest = max_of(largest, shuffle_xor(largest, 2));
    f32 rescale = softmax_weight(state.largest[rows] - largest);
    state.largest[rows] = largest;
    state.total[rows] *= rescale;
    UNROLL for (i32 i = 0; i < 4; i++) {
      weights[i] = base + own_position(i) < end ? softmax_weight(weights[i] - largest) : 0.0f;
      state.total[rows] += weights[i];
    }
    UNROLL for (i32 j = 0; j < 2; j++) {
      f32 first = weights[2 * j], second = weights[2 * j + 1];
      u32 upper = pack_half2(first, second);
      to.upper[rows][j] = upper;
      to.lower[rows][j] = pack_half2(first - half_to_float(u16(upper)), second - half_to_float(u16(upper >> 16)));
      // The four lanes of a head have its factor.
      to.rescale[rows][j] = shuffle_from(rescale, 8 * (lane() & 3) + 4 * j);
    }
  }
}

/// Adds the values of the positions that were weighed last, `lines` in shared memory.
DEVICE void add_values(HeadState& state, const Weights& weights, SharedAddress lines) {
  UNROLL for (i32 step = 0; step < VALUE_STEPS; step++) {
    u32x4 value = load_transposed(lines + octet_of<VALUE>(lane() & 15, 2 * step + i32(lane() >> 4)));
    UNROLL for (i32 rows = 0; rows < ROWS; rows++) {
      f32* sums = state.sums[rows][step];
      UNROLL for (i32 i = 0; i < 4; i++) sums[i] *= weights.rescale[rows][i & 1];
      multiply_eight(sums, value.x, value.z, value.y, value.w, weights.upper[rows][0], weights.upper[rows][1]);
      multiply_eight(sums, value.x, value.z, value.y, value.w, weights.lower[rows][0], weights.lower[rows][1]);
    }
  }
}

KERNEL_RESIDENT(attention, THREADS, RESIDENT, const i32* count, const f32* q, const i32* slots, const i32* positions, const i32* blocks,
                i32 blocks_per_slot, i32 block_size, [[maybe_unused]] i32 cells, const u16* keys, const u16* values, void* out, f32* partials,
                u32* arrivals, i32 capacity, i32 kv_heads, i32 partitions, SCORE_PARAMETERS) {
  const Scores of = SCORES;
  // The warps' keys and values, and the queries, in whose place lies in the end what the warps have summed; then its statistics.
  DYNAMIC_SHARED(memory);
  // Lanes with the same element of neighbouring heads write to different banks.
  typedef f32 Sums[HEADS][VALUE + 4];
  constexpr i32 COPIED = WARPS * WARP_BYTES + sizeof(Queries), SUMMED = WARPS * sizeof(Sums);
  Queries& queries = *reinterpret_cast<Queries*>(memory + WARPS * WARP_BYTES);
  auto& parts = *reinterpret_cast<RowParts<WARPS, HEADS>*>(memory + (COPIED > SUMMED ? COPIED : SUMMED));
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
  i32 partition_size = max_of((length + partitions - 1) / partitions, MIN_PARTITION_SIZE);
  i32 used_partitions = (length + partition_size - 1) / partition_size;
  i32 begin = first + i32(block_z()) * partition_size, end = min_of(begin + partition_size, position + 1);
  if (MERGE == 2 && begin >= end) {
    grid_dependency_wait();
    return;
  }
  i32 warp = thread() / 32, base = begin + TILE * warp;
  SharedAddress own_keys = shared_address(memory) + warp * WARP_BYTES, own_values = own_keys + KEY_BYTES;
  Copies copies = {blocks, blocks_per_slot, block_size, slots[place], end, keys + kv_head * KEY, values + kv_head * VALUE,
                   i64(kv_heads) * KEY, i64(kv_heads) * VALUE, own_keys, 0, 0};
  copies.start(base);
  // Only the row's own position is not in the cache yet.
  bool ahead = SINGLE_ROW && min_of(base + TILE, end) <= position && (SINGLE_ROW == 1 || is_only_row(slots, *count, row));
  if (ahead) copies.copy_keys(), copies.copy_values();
#if !OWN_TABLE
  grid_dependency_wait();
#endif
  if (!ahead) copies.copy_keys(), copies.copy_values();
  load_queries(queries, q + (i64(row) * heads + head) * KEY, used_heads, scale_at(position, of));
  barrier();
  f32 slopes[ROWS];
  UNROLL for (i32 rows = 0; rows < ROWS; rows++) slopes[rows] = alibi_slope(head + ROW_HEADS * rows + i32(lane() >> 2), of);
  HeadState state = {};
  UNROLL for (i32 rows = 0; rows < ROWS; rows++) state.largest[rows] = LOWEST;
  for (; base < end; base += BLOCK_TILE) {
    Weights weights;
    cp_async_wait<1>();
    warp_barrier();
    weigh_keys(weights, state, queries, own_keys, base, end, slopes, position, of);
    warp_barrier();
    copies.copy_keys();
    cp_async_wait<1>();
    warp_barrier();
    add_values(state, weights, own_values);
    warp_barrier();
    copies.copy_values();
  }
  cp_async_wait<0>();
  barrier();
  Sums* sums = reinterpret_cast<Sums*>(memory);
  UNROLL for (i32 rows = 0; rows < ROWS; rows++) {
    UNROLL for (i32 i = 0; i < 4; i++) {
      i32 h = ROW_HEADS * rows + 2 * i32(lane() & 3) + (i & 1);
      UNROLL for (i32 step = 0; step < VALUE_STEPS; step++) {
        if (h < HEADS) sums[warp][h][16 * step + 8 * (i >> 1) + i32(lane() >> 2)] = state.sums[rows][step][i];
      }
    }
    f32 total = state.total[rows];
    total += shuffle_xor(total, 1);
    total += shuffle_xor(total, 2);
    i32 own_head = ROW_HEADS * rows + i32(lane() >> 2);
    if (own_head < HEADS && lane() % 4 == 0) parts.weights[warp][own_head] = {state.largest[rows], total};
  }
  finish_row(parts, sums, {out, partials, arrivals + i64(row) * kv_heads * HEAD_BLOCKS + block_y(), capacity, row, heads, head, used_heads,
                           partitions, used_partitions}, of);
}

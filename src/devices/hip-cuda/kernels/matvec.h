// What matrix-vector kernels in 8-bit integers share: batches of groups, the activations that they meet, and the loop over both. A warp
// multiplies a tile of the weights at a time (see planes.h), four groups of each of eight lines: a lane has one of these. The warps
// of a team divide k, as chunks of four groups, each a stretch of neighbours, and their sums meet in shared memory. A unit says how many
// ROWS of activations there are at most, whether they are STAGED in shared memory, and from which INPUT (see matvec.hip); a block has
// OUTPUTS of each of PARTS, and a lane multiplies LINES of them at a time, of as many tiles.
#pragma once
#include "quantized.h"
#define GRID_COPIED
#include PACKED_FORMAT

#define WARPS 8
#define THREADS (32 * WARPS)

typedef PackedFormat P;

/// Lines of a block, and those that a warp multiplies at a time.
constexpr i32 BLOCK_LINES = OUTPUTS * PARTS, ITEM_LINES = TILE_LINES * LINES;
/// Warps that divide k; sums of many rows have room for those of few warps.
constexpr i32 TEAM_WARPS = ROWS > 2 && BLOCK_LINES > ITEM_LINES ? 4 : 8, TEAMS = WARPS / TEAM_WARPS;
constexpr i32 ITEMS = BLOCK_LINES / (TEAMS * ITEM_LINES);
static_assert(ITEMS * TEAMS * ITEM_LINES == BLOCK_LINES, "the teams take all of a block's lines");
/// Lines of all teams' items, and whether those of the next are as many rows further, except a part's first.
constexpr i32 STEP_LINES = TEAMS * ITEM_LINES;
constexpr bool STEPS = OUTPUTS % STEP_LINES == 0;

// Groups that a lane loads at once: as many as keep memory busy within the registers.
constexpr i32 DEPTH = (sizeof(P::Q::Loaded) + sizeof(P::S::Loaded) <= 20 && LINES == 1) ? 4 : 2;

struct Batch {
  P::Q::Loaded quants[DEPTH][LINES];
  P::S::Loaded scales[DEPTH][LINES];
};

/// Which of the block's lines a lane multiplies as the `line`th of an item, and its group in a chunk of k.
DEVICE u32 own_place(i32 item, i32 line) {
  u32 team = thread() / (32 * TEAM_WARPS);
  return (u32(item) * TEAMS + team) * ITEM_LINES + line * TILE_LINES + (lane() >> 2);
}
DEVICE i32 own_part() { return lane() & 3; }
DEVICE i32 team_warp() { return i32(thread() >> 5) % TEAM_WARPS; }

/// Chunks of k that so many warps divide, each a share of neighbours. All of it is computed anew where it is wanted, mostly by the compiler:
/// registers have no room for it.
struct Chunks {
  i32 count, warps;

  DEVICE_MEMBER i32 share() const { return (count + warps - 1) / warps; }
  DEVICE_MEMBER i32 first() const { return team_warp() % warps * share(); }
  DEVICE_MEMBER bool even() const { return share() * warps == count; }
  /// Whether the warp has an `i`th chunk.
  DEVICE_MEMBER bool has(i32 i) const { return even() || first() + i < count; }
  /// How far behind the first the `i`th chunk is, or instead of a missing one the last of all.
  DEVICE_MEMBER i32 step(i32 i) const { return even() ? i : min_of(i, count - 1 - first()); }
};

/// The lines of the next item behind those that begin at `starts`; missing ones behind row `last` are others.
DEVICE void step_lines(u32* starts, u32 last, i32 groups, const Chunks& chunks) {
  u32 tile = tiles_across(groups) * TILE_SIZE;
  u32 most = last / TILE_LINES * tile + (TILE_LINES - 1) * TILE_GROUPS + chunks.first() * TILE_SIZE + own_part();
  UNROLL for (i32 line = 0; line < LINES; line++) starts[line] = min_of(starts[line] + STEP_LINES / TILE_LINES * tile, most);
}

/// A lane's group of a chunk: its number among those of a row of activations, and whether it exists.
struct OwnGroup {
  i32 index;
  bool exists;
};

/// A group's scale with the sums that its products need: those of both halves, or the sum of both as a number.
struct alignas(8) WholeScale {
  f32 d, sum;
};
template <bool PER_HALF>
struct ScaleTypes {
  typedef GroupScale Of;
  DEVICE Of from(const GroupScale& scale) { return scale; }
};
template <>
struct ScaleTypes<false> {
  typedef WholeScale Of;
  DEVICE Of from(const GroupScale& scale) { return {scale.d, f32(scale.low + scale.high)}; }
};
typedef ScaleTypes<P::S::PER_HALF> Scales;
typedef Scales::Of RowScale;

/// The activations: in shared memory as arrays of the groups' first halves, second halves and scales, else as they stand.
#if STAGED
struct Activations {
  SharedAddress low, high, scales;
  i32 groups;

  /// What is read behind the last group is in shared memory, too: 32 groups' halves are allocated behind the arrays.
  DEVICE_MEMBER void load(i32 row, i32 group, u32x4& first, u32x4& second, RowScale& scale) const {
    i32 index = row * groups + group;
    first = load_shared_16(low + 16 * index);
    second = load_shared_16(high + 16 * index);
    scale = bit_cast<RowScale>(load_shared_8(scales + 8 * index));
  }
};
DEVICE Activations staged_activations(u8* staged, i32 groups) {
  i32 count = ROWS * groups;
  SharedAddress low = shared_address(staged);
  return {low, low + 16 * count, low + 32 * count, groups};
}
#else
struct Activations {
  const u8* at;
  i32 rows, groups;

  DEVICE_MEMBER void load(i32 row, i32 group, u32x4& first, u32x4& second, RowScale& scale) const {
    i64 index = i64(min_of(row, rows - 1)) * groups + min_of(group, groups - 1);
    const u32x4* halves = reinterpret_cast<const u32x4*>(at) + 2 * index;
    first = halves[0];
    second = halves[1];
    scale = Scales::from(reinterpret_cast<const GroupScale*>(at + quantized_bytes(rows, groups))[index]);
  }
};
#endif

DEVICE f32 group_product(const u32* quads, const GroupScales& scales, const u32* x, const GroupScale& scale) {
  i32 low = 0, high = 0;
  UNROLL for (i32 q = 0; q < 4; q++) {
    low = dot4(quads[q], x[q], low);
    high = dot4(quads[q + 4], x[q + 4], high);
  }
  if (P::OFFSET) low -= P::OFFSET * scale.low, high -= P::OFFSET * scale.high;
  f32 product = fused_multiply_add(scales.scale[0], f32(low), scales.scale[1] * f32(high));
  if (P::S::MINS) {
    product = fused_multiply_add(scales.min[0], f32(scale.low), product);
    product = fused_multiply_add(scales.min[1], f32(scale.high), product);
  }
  return product;
}

/// The same of a group without halves; sums of integers are exact as numbers.
DEVICE f32 group_product(const u32* quads, const GroupScales& scales, const u32* x, const WholeScale& scale) {
  i32 low = 0, high = 0;
  UNROLL for (i32 q = 0; q < 4; q++) {
    low = dot4(quads[q], x[q], low);
    high = dot4(quads[q + 4], x[q + 4], high);
  }
  f32 whole = f32(low + high);
  if (P::OFFSET) whole = fused_multiply_add(f32(-P::OFFSET), scale.sum, whole);
  f32 product = scales.scale[0] * whole;
  return P::S::MINS ? fused_multiply_add(scales.min[0], scale.sum, product) : product;
}

/// Multiplies a batch, of a warp's chunks from its `first`th on, with the rows of `x`; what is computed of missing groups is not added.
/// `weights` says which group of `x` a lane has of a chunk.
template <class Weights, class Rows>
DEVICE void add_batch(f32 (*sums)[LINES], const Batch& batch, const Weights& weights, const Rows& x, i32 first) {
  UNROLL for (i32 u = 0; u < DEPTH; u++) {
    if (u > 0 && first + u >= weights.chunks.share()) break;
    OwnGroup own = weights.own_group(first + u);
    u32 quads[LINES][8];
    GroupScales scales[LINES];
    UNROLL for (i32 line = 0; line < LINES; line++) {
      P::Entries entries = P::entries(batch.quants[u][line]);
      UNROLL for (i32 t = 0; t < 4; t++) {
        Octet octet = P::octet_levels(entries, t);
        quads[line][t] = octet.low, quads[line][t + 4] = octet.high;
      }
      scales[line] = P::S::of(batch.scales[u][line]);
    }
    UNROLL for (i32 r = 0; r < ROWS; r++) {
      u32x4 low, high;
      RowScale scale;
      x.load(r, own.index, low, high, scale);
      u32 words[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
      UNROLL for (i32 line = 0; line < LINES; line++) {
        f32 product = group_product(quads[line], scales[line], words, scale);
        f32 sum = fused_multiply_add(scale.d, product, sums[r][line]);
        sums[r][line] = own.exists ? sum : sums[r][line];
      }
    }
  }
}

/// The sums of a team's warps.
typedef f32 WarpSums[TEAM_WARPS][PARTS][ROWS][OUTPUTS];

DEVICE f32 sum_of(const WarpSums& sums, i32 part, i32 r, i32 i) {
  f32 sum = sums[0][part][r][i];
  UNROLL for (i32 warp = 1; warp < TEAM_WARPS; warp++) sum += sums[warp][part][r][i];
  return sum;
}

/// The products of the rows of `x` with the block's lines of `weights`; `even` and `odd` are the first two batches, so that two are always
/// on their way.
template <class Weights, class Rows>
DEVICE void multiply(WarpSums& results, Weights& weights, Batch& even, Batch& odd, const Rows& x) {
  f32 sums[ROWS][LINES] = {};
  i32 item = 0, first = 0;
  auto take = [&](Batch& batch) {
    if (item >= ITEMS) return;
    add_batch(sums, batch, weights, x, first);
    weights.load(batch);
    first += DEPTH;
    if (first < weights.chunks.share()) return;
    UNROLL for (i32 r = 0; r < ROWS; r++) {
      UNROLL for (i32 line = 0; line < LINES; line++) {
        f32 sum = sums[r][line];
        sum += shuffle_xor(sum, 1);
        sum += shuffle_xor(sum, 2);
        u32 place = own_place(item, line);
        if (own_part() == 0) results[team_warp()][place / OUTPUTS][r][place % OUTPUTS] = sum;
        sums[r][line] = 0;
      }
    }
    item++, first = 0;
  };
  while (item < ITEMS) {
    take(even);
    take(odd);
  }
}

#if INPUT == 0
#if STAGED
DEVICE void stage(u8* shared, const u8* x, i32 rows, i32 groups) {
  i32 count = ROWS * groups, used = min_of(ROWS, rows) * groups;
  u32x4* halves = reinterpret_cast<u32x4*>(shared);
  for (i32 i = thread(); i < 2 * used; i += THREADS) {
    halves[(i & 1) * count + (i >> 1)] = reinterpret_cast<const u32x4*>(x)[i];
  }
  const u32x2* scales = reinterpret_cast<const u32x2*>(x + quantized_bytes(rows, groups));
  RowScale* to = reinterpret_cast<RowScale*>(shared + quantized_bytes(ROWS, groups));
  for (i32 i = thread(); i < used; i += THREADS) to[i] = Scales::from(bit_cast<GroupScale>(scales[i]));
}
#endif
#else
struct Eight {
  f32 at[8];
};

/// Eight neighbouring elements, of which a row has `4 * groups`.
DEVICE Eight load_eight(const f32* from, i32 i) {
  f32x4 low = reinterpret_cast<const f32x4*>(from)[2 * i], high = reinterpret_cast<const f32x4*>(from)[2 * i + 1];
  return {{low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w}};
}

DEVICE f32 square_of(const Eight& v) {
  f32 sum = 0;
  UNROLL for (i32 k = 0; k < 8; k++) sum += v.at[k] * v.at[k];
  return sum;
}

/// Quantizes rows in use into shared memory, each thread PASSES times eight elements; longer rows take several rounds and are
/// read twice. `norm_weight` are the norm's, loaded before the activations were there.
constexpr i32 PASSES = 2;

DEVICE void quantize_into(u8* shared, i32 count, i32 r, i32 groups, i32 i, Eight values) {
  u32 quads[2];
  GroupScale scale = quantize_eight(values.at, quads);
  if (i >= 4 * groups) return;
  i32 index = r * groups + (i >> 2);
  u32x2* halves = reinterpret_cast<u32x2*>(shared);
  halves[((i & 2) ? 2 * count : 0) + 2 * index + (i & 1)] = {quads[0], quads[1]};
  if ((i & 3) == 0) reinterpret_cast<RowScale*>(shared + quantized_bytes(ROWS, groups))[index] = Scales::from(scale);
}

DEVICE void stage(u8* shared, f32* sums, const f32* x, const f32* norm, const Eight* norm_weight, f32 epsilon, i32 rows, i32 groups) {
  i32 count = ROWS * groups, width = 32 * groups, last = 4 * groups - 1;
  bool short_row = 4 * groups <= PASSES * THREADS;
  for (i32 r = 0; r < ROWS; r++) {
    const f32* row = x + i64(r < rows ? r : 0) * width;
    Eight kept[PASSES];
    f32 scale = 1;
    UNROLL for (i32 p = 0; p < PASSES; p++) kept[p] = load_eight(row, min_of(p * THREADS + i32(thread()), last));
#if INPUT == 2
    f32 square = 0;
    UNROLL for (i32 p = 0; p < PASSES; p++) {
      if (p * THREADS + i32(thread()) <= last) square += square_of(kept[p]);
    }
    for (i32 i = PASSES * THREADS + thread(); i <= last; i += THREADS) square += square_of(load_eight(row, i));
    if (r > 0) barrier();
    scale = 1.0f / square_root(block_sum<WARPS>(square, sums) / f32(width) + epsilon);
#endif
    UNROLL for (i32 p = 0; p < PASSES; p++) {
#if INPUT == 2
      UNROLL for (i32 k = 0; k < 8; k++) kept[p].at[k] = kept[p].at[k] * scale * norm_weight[p].at[k];
#endif
      if (p * THREADS <= last) quantize_into(shared, count, r, groups, p * THREADS + thread(), kept[p]);
    }
    if (short_row) continue;
    for (i32 round = PASSES * THREADS; round <= last; round += THREADS) {
      i32 i = round + thread();
      Eight values = load_eight(row, min_of(i, last));
#if INPUT == 2
      Eight own = load_eight(norm, min_of(i, last));
      UNROLL for (i32 k = 0; k < 8; k++) values.at[k] = values.at[k] * scale * own.at[k];
#endif
      quantize_into(shared, count, r, groups, i, values);
    }
  }
}
#endif

// What matrix-vector kernels in 8-bit integers share: batches of a row's groups, and the activations that they meet. A unit says
// how many ROWS of activations there are at most, whether they are STAGED in shared memory, and from which INPUT (see
// matvec.hip).
#pragma once
#include "quantized.h"
#define GRID_COPIED
#include PACKED_FORMAT

#define WARPS 8
#define THREADS (32 * WARPS)
/// Lines of the weights that a warp takes at a time.
#ifndef LINES
#define LINES (ROWS <= 2 ? 1 : 2)
#endif

typedef PackedFormat P;

// Groups of a row that a lane loads at once: as many as keep memory busy within the registers.
constexpr i32 DEPTH = (sizeof(P::Q::Loaded) + sizeof(P::S::Loaded) <= 20 && LINES == 1) ? 4 : 2;

struct Batch {
  P::Q::Loaded quants[DEPTH][LINES];
  P::S::Loaded scales[DEPTH][LINES];
};

/// Loads groups from `first` on of lines that begin at `starts`; beyond a line's end, its last. Fewer than 2^32 groups keep addresses
/// cheap.
DEVICE void load_batch(Batch& batch, const P::Q::Planes& quants, const P::S::Planes& scales, const u32* starts, i32 first, i32 groups) {
  UNROLL for (i32 u = 0; u < DEPTH; u++) {
    u32 own = min_of(first + 32 * u + i32(lane()), groups - 1);
    UNROLL for (i32 line = 0; line < LINES; line++) {
      i64 group = starts[line] + own;
      batch.quants[u][line] = P::Q::load(quants, group);
      batch.scales[u][line] = P::S::load(scales, group);
    }
  }
}

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

/// Multiplies a batch of the groups from `first` on with the rows of `x`; what is computed behind the last group is not added.
template <class Rows>
DEVICE void add_batch(f32 (*sums)[LINES], const Batch& batch, const Rows& x, i32 first, i32 groups) {
  UNROLL for (i32 u = 0; u < DEPTH; u++) {
    if (u > 0 && first + 32 * u >= groups) break;
    i32 group = first + 32 * u + i32(lane());
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
      x.load(r, group, low, high, scale);
      u32 words[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
      UNROLL for (i32 line = 0; line < LINES; line++) {
        f32 product = group_product(quads[line], scales[line], words, scale);
        f32 sum = fused_multiply_add(scale.d, product, sums[r][line]);
        sums[r][line] = group < groups ? sum : sums[r][line];
      }
    }
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

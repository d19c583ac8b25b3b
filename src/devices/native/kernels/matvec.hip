// Matrix-vector products in 8-bit integers for up to ROWS rows of activations: y[r] = W x[r]. A block computes OUTPUTS outputs
// of each PART (two where gate and up are one product), a warp LINES of them at a time; a lane takes the row's groups 32
// apart, in ascending order, so that a result does not depend on how many rows are computed with it. While a warp multiplies,
// its next groups are on their way.
//
//   INPUT   0 quantized rows   1 f32 rows, quantized here   2 f32 rows, RMS-normed and quantized here
//   OUTPUT  0 f32 (+ bias)   1 f32 + residual   2 activation(gate) * up, f32   3 the same, quantized
//           4 queries, keys and values (+ bias): turned by the rope table, keys and values appended to the cache, and the
//             counters zeroed by which attention's blocks find out who is last
//   STAGED  whether the activations fit into shared memory
#include "quantized.h"
#include "paged-cache.h"
#include "activation.h"
#include PACKED_FORMAT

#define WARPS 8
#define THREADS (32 * WARPS)
#define PARTS (OUTPUT == 2 || OUTPUT == 3 ? 2 : 1)
#define LINES (ROWS <= 2 ? 1 : 2)

typedef PackedFormat P;

// Groups of a row that a lane loads at once: as many as keep memory busy within the registers.
constexpr i32 DEPTH = (sizeof(P::Q::Loaded) + sizeof(P::S::Loaded) <= 20 && LINES == 1) ? 4 : 2;
constexpr i32 ITEMS = OUTPUTS * PARTS / (WARPS * LINES);

struct Batch {
  P::Q::Loaded quants[DEPTH][LINES];
  P::S::Loaded scales[DEPTH][LINES];
};

/// The activations: in shared memory as arrays of the groups' first halves, second halves and scales, else as they stand.
struct Activations {
  const u8* at;
  i32 rows, groups;

  DEVICE_MEMBER void load(i32 row, i32 group, u32x4& low, u32x4& high, GroupScale& scale) const {
    i64 index = i64(min_of(row, rows - 1)) * groups + group;
#if STAGED
    const u32x4* halves = reinterpret_cast<const u32x4*>(at);
    low = halves[index];
    high = halves[i64(rows) * groups + index];
#else
    const u32x4* halves = reinterpret_cast<const u32x4*>(at) + 2 * index;
    low = halves[0];
    high = halves[1];
#endif
    scale = reinterpret_cast<const GroupScale*>(at + quantized_bytes(rows, groups))[index];
  }
};

DEVICE f32 group_product(const u32* quads, const GroupScales& scales, const u32* x, const GroupScale& scale) {
  i32 low = 0, high = 0;
  UNROLL for (i32 q = 0; q < 4; q++) {
    low = dot4(quads[q], x[q], low);
    high = dot4(quads[q + 4], x[q + 4], high);
  }
  f32 product;
  if (P::S::HALVES) {
    if (P::OFFSET) low -= P::OFFSET * scale.low, high -= P::OFFSET * scale.high;
    product = fused_multiply_add(scales.scale[0], f32(low), scales.scale[1] * f32(high));
    if (P::S::MINS) {
      product = fused_multiply_add(scales.min[0], f32(scale.low), product);
      product = fused_multiply_add(scales.min[1], f32(scale.high), product);
    }
  } else {
    i32 sum = scale.low + scale.high, whole = low + high;
    if (P::OFFSET) whole -= P::OFFSET * sum;
    product = scales.scale[0] * f32(whole);
    if (P::S::MINS) product = fused_multiply_add(scales.min[0], f32(sum), product);
  }
  return product;
}

DEVICE void add_batch(f32 (*sums)[LINES], const Batch& batch, const Activations& x, i32 first, i32 groups) {
  UNROLL for (i32 u = 0; u < DEPTH; u++) {
    i32 group = first + 32 * u + i32(lane());
    if (group < groups) {
      u32 quads[LINES][8];
      GroupScales scales[LINES];
      UNROLL for (i32 line = 0; line < LINES; line++) {
        UNROLL for (i32 q = 0; q < 8; q++) quads[line][q] = P::levels(P::Q::quad(batch.quants[u][line], q));
        scales[line] = P::S::of(batch.scales[u][line]);
      }
      UNROLL for (i32 r = 0; r < ROWS; r++) {
        u32x4 low, high;
        GroupScale scale;
        x.load(r, group, low, high, scale);
        u32 words[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
        UNROLL for (i32 line = 0; line < LINES; line++) {
          f32 product = group_product(quads[line], scales[line], words, scale);
          sums[r][line] = fused_multiply_add(scale.d, product, sums[r][line]);
        }
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
  u32x2* to = reinterpret_cast<u32x2*>(shared + quantized_bytes(ROWS, groups));
  for (i32 i = thread(); i < used; i += THREADS) to[i] = scales[i];
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
/// read twice. `factors` are the norm's, loaded before the activations were there.
constexpr i32 PASSES = 2;

DEVICE void quantize_into(u8* shared, i32 count, i32 r, i32 groups, i32 i, Eight values) {
  u32 quads[2];
  GroupScale scale = quantize_eight(values.at, quads);
  if (i >= 4 * groups) return;
  i32 index = r * groups + (i >> 2);
  u32x2* halves = reinterpret_cast<u32x2*>(shared);
  halves[((i & 2) ? 2 * count : 0) + 2 * index + (i & 1)] = {quads[0], quads[1]};
  if ((i & 3) == 0) reinterpret_cast<GroupScale*>(shared + quantized_bytes(ROWS, groups))[index] = scale;
}

DEVICE void stage(u8* shared, f32* sums, const f32* x, const f32* norm, const Eight* factors, f32 epsilon, i32 rows, i32 groups) {
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
      UNROLL for (i32 k = 0; k < 8; k++) kept[p].at[k] = kept[p].at[k] * scale * factors[p].at[k];
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

#if OUTPUT == 4
/// Where a row of the joined queries, keys and values stands: in the file's order, or, where rope turns halves of a head, with
/// 16 rows of the first half beside their partners.
DEVICE i32 head_row(i32 block, i32 i, i32 head_size, i32 turning, i32 interleaved) {
  i32 n = block * OUTPUTS + i;
  if (interleaved || block * OUTPUTS >= turning) return n;
  i32 blocks = head_size / OUTPUTS, start = block / blocks * head_size;
  return start + block % blocks * 16 + (i & 15) + (i >> 4) * (head_size / 2);
}
#endif

#if OUTPUT == 4
#define HEAD_PARAMETERS                                                                                                   \
  , const f32 *table, i32 turned, i32 interleaved, i32 head_size, i32 q_width, i32 k_width, const i32 *slots,             \
      const i32 *positions, const i32 *blocks, i32 blocks_per_slot, i32 block_size, CacheElement *keys, CacheElement *values, \
      u32 *arrivals, i32 arrival_count
#else
#define HEAD_PARAMETERS
#endif

/// The row of the weights, one part's, that output `i` of the block is.
#if OUTPUT == 4
#define ROW_OF(i) head_row(block_x(), i, head_size, q_width + k_width, interleaved)
#else
#define ROW_OF(i) (i32(block_x()) * OUTPUTS + (i))
#endif

KERNEL_RESIDENT(matvec, THREADS, (ROWS > 2 ? 2 : INPUT == 2 ? 3 : 4), const i32* count, const void* x, const f32* norm, f32 epsilon,
                const u8* weight, i32 outputs, i32 groups, i32 capacity, const f32* addend, void* y HEAD_PARAMETERS) {
  DYNAMIC_SHARED(staged);
  SHARED f32 results[PARTS][ROWS][OUTPUTS];
#if INPUT == 2
  SHARED f32 square_sums[WARPS];
#elif INPUT == 1
  f32* square_sums = nullptr;
#endif
  i32 warp = thread() >> 5;
  PlaneCursor cursor = {const_cast<u8*>(weight)};
  P::Q::Planes quants = P::Q::planes(cursor, i64(PARTS) * outputs * groups);
  P::S::Planes scales = P::S::planes(cursor, i64(PARTS) * outputs * groups);
  auto load = [&](Batch& batch, i32 item, i32 first) {
    UNROLL for (i32 line = 0; line < LINES; line++) {
      i32 place = item * (WARPS * LINES) + warp * LINES + line;
      i64 start = (i64(place / OUTPUTS) * outputs + min_of(ROW_OF(place % OUTPUTS), outputs - 1)) * groups;
      UNROLL for (i32 u = 0; u < DEPTH; u++) {
        i64 group = start + min_of(first + 32 * u + i32(lane()), groups - 1);
        batch.quants[u][line] = P::Q::load(quants, group);
        batch.scales[u][line] = P::S::load(scales, group);
      }
    }
  };
  Batch batch;
  load(batch, 0, 0);
#if INPUT != 0
  [[maybe_unused]] Eight factors[PASSES];
#if INPUT == 2
  UNROLL for (i32 p = 0; p < PASSES; p++) factors[p] = load_eight(norm, min_of(p * THREADS + i32(thread()), 4 * groups - 1));
#endif
#endif
  release_successor();
  await_inputs();
  i32 rows = *count;
#if OUTPUT == 4
  for (i32 i = block_x() == 0 ? thread() : arrival_count; i < arrival_count; i += THREADS) arrivals[i] = 0;
#endif
#if INPUT == 0 && STAGED
  stage(staged, static_cast<const u8*>(x), capacity, groups);
  Activations activations = {staged, ROWS, groups};
#elif INPUT == 0
  Activations activations = {static_cast<const u8*>(x), capacity, groups};
#else
  stage(staged, square_sums, static_cast<const f32*>(x), norm, factors, epsilon, rows, groups);
  Activations activations = {staged, ROWS, groups};
#endif
  barrier();
  for (i32 item = 0; item < ITEMS; item++) {
    f32 sums[ROWS][LINES] = {};
    for (i32 first = 0; first < groups; first += 32 * DEPTH) {
      Batch next = batch;
      if (first + 32 * DEPTH < groups) {
        load(next, item, first + 32 * DEPTH);
      } else if (item + 1 < ITEMS) {
        load(next, item + 1, 0);
      }
      add_batch(sums, batch, activations, first, groups);
      batch = next;
    }
    UNROLL for (i32 r = 0; r < ROWS; r++) {
      UNROLL for (i32 line = 0; line < LINES; line++) {
        f32 sum = warp_sum(sums[r][line]);
        i32 place = item * (WARPS * LINES) + warp * LINES + line;
        if (lane() == 0) results[place / OUTPUTS][r][place % OUTPUTS] = sum;
      }
    }
  }
  barrier();
  i32 r = warp, i = lane();
  if (r >= ROWS || r >= rows || i >= OUTPUTS) return;
  [[maybe_unused]] i32 n = ROW_OF(i);
  f32 value = results[0][r][i];
#if OUTPUT == 0
  if (n < outputs) static_cast<f32*>(y)[i64(r) * outputs + n] = addend ? value + addend[n] : value;
#elif OUTPUT == 1
  if (n < outputs) static_cast<f32*>(y)[i64(r) * outputs + n] = value + addend[i64(r) * outputs + n];
#elif OUTPUT == 2
  if (n < outputs) static_cast<f32*>(y)[i64(r) * outputs + n] = activation(value) * results[1][r][i];
#elif OUTPUT == 3
  u8* out = static_cast<u8*>(y);
  quantize_warp(activation(value) * results[1][r][i], out, i64(r) * (outputs / 32) + block_x(),
                reinterpret_cast<GroupScale*>(out + quantized_bytes(capacity, outputs / 32)));
#else
  if (n >= outputs) return;
  if (addend) value += addend[n];
  i32 in_head = n % head_size;
  if (n < q_width + k_width && in_head < turned) {
    i32 half = turned / 2, pair = interleaved ? in_head >> 1 : in_head >= half ? in_head - half : in_head;
    bool second = interleaved ? in_head & 1 : in_head >= half;
    i32 other = interleaved ? n ^ 1 : second ? n - half : n + half;
    f32 partner = results[0][r][interleaved ? i ^ 1 : i ^ 16] + (addend ? addend[other] : 0.0f);
    f32 cosine = table[i64(r) * turned + 2 * pair], sine = table[i64(r) * turned + 2 * pair + 1];
    value = second ? partner * sine + value * cosine : value * cosine - partner * sine;
  }
  if (n < q_width) {
    static_cast<f32*>(y)[i64(r) * q_width + n] = value;
    return;
  }
  i64 cell = cell_of(blocks, blocks_per_slot, block_size, slots[r], positions[r]);
  i32 v_width = outputs - q_width - k_width;
  if (n < q_width + k_width) {
    keys[cell * k_width + n - q_width] = to_cache(value);
  } else {
    values[cell * v_width + n - q_width - k_width] = to_cache(value);
  }
#endif
}

// Matrix-vector products in 8-bit integers for up to ROWS rows of activations: y[r] = W x[r]. A block computes OUTPUTS outputs
// of each PART (two where gate and up are one product), a warp eight or sixteen of them at a time. Whether one row or two are computed
// together, the order of additions is the same. While a warp multiplies, its next groups are in flight.
//
//   INPUT   0 quantized rows   1 f32 rows, quantized here   2 f32 rows, RMS-normed and quantized here
//   OUTPUT  0 f32 (+ bias)   1 f32 + residual   2 gated(gate, up), f32   3 the same, quantized
//           4 queries, keys and values (+ bias): rotated by the rope table, keys and values appended to the cache, and the
//             counters zeroed by which attention's blocks find out who is last
//           5 f32, of up to four products: a block is one of `outputs`' blocks, or of the next product's, and so on
//           6 f32 (+ bias), a rank's part of a sum, which is also pushed into the other ranks' inboxes
//   STAGED  whether the activations fit into shared memory
//   GROUPS    those of a row, if it is not 0: nearly all that finds addresses is then done by the compiler
//   RESIDENT  blocks that a multiprocessor should hold: so few registers may a thread have
#define PARTS (OUTPUT == 2 || OUTPUT == 3 ? 2 : 1)
#include "matvec.h"
#include "paged-cache.h"
#include "activation.h"
#if OUTPUT == 6
#include "inbox.h"
#endif

static_assert(OUTPUTS <= LANES || OUTPUT == 0, "a lane stores an output, or several of a wide block");

#if OUTPUT == 4
/// Outputs of the block from each half of a head, where RoPE pairs the halves.
constexpr i32 HALF = OUTPUTS / 2;

/// Where a row of the joined queries, keys and values stands: in the file's order, or, where RoPE pairs the halves of a head, with
/// HALF rows of the first half beside their partners.
DEVICE i32 head_row(i32 block, i32 i, i32 head_size, i32 rotated_width, i32 interleaved) {
  i32 n = block * OUTPUTS + i;
  if (interleaved || block * OUTPUTS >= rotated_width) return n;
  i32 blocks = head_size / OUTPUTS, start = block / blocks * head_size;
  return start + block % blocks * HALF + i % HALF + i / HALF * (head_size / 2);
}
#endif

#if OUTPUT == 4
#define HEAD_PARAMETERS                                                                                                   \
  , const f32 *table, i32 rotary_dim, i32 interleaved, i32 head_size, i32 q_width, i32 k_width, const i32 *slots,             \
      const i32 *positions, const i32 *blocks, i32 blocks_per_slot, i32 block_size, i32 cells, CacheElement *keys,    \
      CacheElement *values, u32 *arrivals, i32 arrival_count
#elif OUTPUT == 5
#define HEAD_PARAMETERS                                                                                             \
  , const u8 *weight1, f32 *y1, i32 outputs1, const u8 *weight2, f32 *y2, i32 outputs2, const u8 *weight3, f32 *y3, \
      i32 outputs3
#elif OUTPUT == 6
#define HEAD_PARAMETERS , PUSH_PARAMETERS
#else
#define HEAD_PARAMETERS
#endif

/// The row of the weights, one part's, that output `i` of the block is.
#if OUTPUT == 4
#define ROW_OF(i) head_row(block, i, head_size, q_width + k_width, interleaved)
#else
#define ROW_OF(i) (block * OUTPUTS + (i))
#endif

/// The block's lines of the weights, in the order in which its warps load them.
struct Weights {
  P::Q::Planes quants;
  P::S::Planes scales;
  i32 block, outputs, groups;
  Chunks chunks;
#if OUTPUT == 4
  i32 head_size, q_width, k_width, interleaved;
#endif
  /// What is loaded next: the warp's chunks from its `first`th on, of lines in which the lane's groups begin at `starts`.
  i32 item, first;
  u32 starts[LINES];

  DEVICE_MEMBER void find_item(i32 next) {
    item = next, first = 0;
    if (STEPS && OUTPUT != 4 && item * STEP_LINES % OUTPUTS != 0) {
      step_lines(starts, PARTS * outputs - 1, groups, chunks);
      return;
    }
    UNROLL for (i32 line = 0; line < LINES; line++) {
      u32 place = own_place(item, line);
      u32 n = min_of(ROW_OF(i32(place % OUTPUTS)), outputs - 1);
      starts[line] = row_start(place / OUTPUTS * u32(outputs) + n, groups) + chunks.first() * TILE_SIZE + own_part();
    }
  }
  /// Loads the next batch.
  DEVICE_MEMBER void load(Batch& batch) {
    if (item >= ITEMS) return;
    UNROLL for (i32 u = 0; u < DEPTH; u++) {
      if (first + u >= chunks.share()) break;
      u32 step = chunks.step(first + u) * TILE_SIZE;
      UNROLL for (i32 line = 0; line < LINES; line++) {
        i64 group = starts[line] + step;
        batch.quants[u][line] = P::Q::load(quants, group);
        batch.scales[u][line] = P::S::load(scales, group);
      }
    }
    first += DEPTH;
    if (first >= chunks.share()) find_item(item + 1);
  }
  DEVICE_MEMBER OwnGroup own_group(i32 i) const {
    i32 group = TILE_GROUPS * (chunks.first() + i) + own_part();
    return {group, GROUPS > 0 && GROUPS % TILE_GROUPS == 0 ? chunks.has(i) : group < groups};
  }
};

/// What a thread stores, if it exists: output `n` of a row, the block's `i`th.
struct Stored {
  i32 row, i, n;
  bool exists;
};
/// The rotation of an output, if it has one: its pair of the rope table's row, and whether it is the pair's second.
struct Rotation {
  i32 pair;
  bool second, exists;
};

KERNEL_RESIDENT(matvec, THREADS, RESIDENT, const i32* count, const void* x, const f32* norm, f32 epsilon,
                const u8* weight, i32 outputs, i32 groups_of_row, i32 capacity, const f32* addend, void* y HEAD_PARAMETERS) {
  const i32 groups = GROUPS > 0 ? GROUPS : groups_of_row;
  DYNAMIC_SHARED(staged);
  SHARED WarpSums results;
#if INPUT == 2
  SHARED f32 square_sums[WARPS];
#elif INPUT == 1
  f32* square_sums = nullptr;
#endif
  const i32 rows = *count;
  i32 warp = thread() >> 5, block = block_x();
#if OUTPUT == 5
  auto pass = [&](const u8* next_weight, f32* next_y, i32 next_outputs) {
    i32 blocks = (outputs + OUTPUTS - 1) / OUTPUTS;
    if (block < blocks) return;
    block -= blocks, weight = next_weight, y = next_y, outputs = next_outputs;
  };
  pass(weight1, y1, outputs1);
  pass(weight2, y2, outputs2);
  pass(weight3, y3, outputs3);
#endif
  PlaneCursor cursor = {const_cast<u8*>(weight)};
  Weights weights;
  weights.quants = P::Q::planes(cursor, tiled_groups(i64(PARTS) * outputs, groups));
  weights.scales = P::S::planes(cursor, tiled_groups(i64(PARTS) * outputs, groups));
  weights.block = block, weights.outputs = outputs, weights.groups = groups, weights.chunks = {tiles_across(groups), TEAM_WARPS};
#if OUTPUT == 4
  weights.head_size = head_size, weights.q_width = q_width, weights.k_width = k_width, weights.interleaved = interleaved;
#endif
#if OUTPUT == 4
  // Where a row's keys and values go is known before the activations are.
  SHARED i64 row_cells[ROWS];
  if (i32(thread()) < min_of(ROWS, rows)) {
    row_cells[thread()] = cell_of(blocks, blocks_per_slot, block_size, slots[thread()], positions[thread()]);
  }
#endif
  // Two batches are always in flight; they start before the activations are there, as far as registers go.
  Batch even, odd;
  weights.find_item(0);
  weights.load(even);
#if INPUT == 0
  weights.load(odd);
#else
  [[maybe_unused]] Eight norm_weight[PASSES];
#if INPUT == 2
  UNROLL for (i32 p = 0; p < PASSES; p++) norm_weight[p] = load_eight(norm, min_of(p * THREADS + i32(thread()), 4 * groups - 1));
#endif
#endif
  P::prepare(THREADS);
  grid_launch_dependents();
  grid_dependency_wait();
#if OUTPUT == 6
  const u32 epoch = state->epoch + 1;
#endif
  // What a thread's sum is combined with comes to shared memory while it is computed.
  auto stored_by = [&](i32 own_row, i32 i) {
    i32 n = ROW_OF(i);
    // Whole blocks are quantized.
    return Stored{own_row, i, n, own_row < ROWS && own_row < rows && i < OUTPUTS && (OUTPUT == 3 || n < outputs)};
  };
#if OUTPUT == 1
  SHARED f32 addends[ROWS][OUTPUTS];
  if (Stored at = stored_by(warp, lane()); at.exists) {
    cp_async_4(shared_address(&addends[at.row][at.i]), addend + i64(at.row) * outputs + at.n);
  }
#elif OUTPUT == 4
  SHARED f32x2 angles[ROWS][OUTPUTS];
  auto rotation_of = [&](i32 n) {
    i32 in_head = n % head_size, half = rotary_dim / 2;
    i32 pair = interleaved ? in_head >> 1 : in_head >= half ? in_head - half : in_head;
    return Rotation{pair, interleaved ? (in_head & 1) == 1 : in_head >= half, n < q_width + k_width && in_head < rotary_dim};
  };
  if (Stored at = stored_by(warp, lane()); at.exists) {
    Rotation rotation = rotation_of(at.n);
    if (rotation.exists) cp_async_8(shared_address(&angles[at.row][at.i]), table + i64(at.row) * rotary_dim + 2 * rotation.pair);
  }
  for (i32 i = block_x() == 0 ? thread() : arrival_count; i < arrival_count; i += THREADS) arrivals[i] = 0;
#endif
#if INPUT == 0 && STAGED
  stage(staged, static_cast<const u8*>(x), capacity, groups);
  Activations activations = staged_activations(staged, groups);
#elif INPUT == 0
  Activations activations = {static_cast<const u8*>(x), capacity, groups};
#else
  stage(staged, square_sums, static_cast<const f32*>(x), norm, norm_weight, epsilon, rows, groups);
  Activations activations = staged_activations(staged, groups);
  weights.load(odd);
#endif
  barrier();
  multiply(results, weights, even, odd, activations);
#if OUTPUT == 0
  barrier();
  for (i32 i = lane(); i < OUTPUTS; i += LANES) {
    if (Stored at = stored_by(warp, i); at.exists) {
      f32 value = sum_of(results, 0, at.row, i);
      static_cast<f32*>(y)[i64(at.row) * outputs + at.n] = addend ? value + addend[at.n] : value;
    }
  }
#else
#if OUTPUT == 1 || OUTPUT == 4
  cp_async_commit();
  cp_async_wait<0>();
  barrier();
  // Kept from before the products, this would take registers that batches need.
  const i32 own_thread = anew(thread());
  const auto [r, i, n, stores] = stored_by(own_thread >> 5, own_thread & 31);
#else
  barrier();
  const auto [r, i, n, stores] = stored_by(warp, lane());
#endif
  if (!stores) return;
  f32 value = sum_of(results, 0, r, i);
#if OUTPUT == 5
  static_cast<f32*>(y)[i64(r) * outputs + n] = addend ? value + addend[n] : value;
#elif OUTPUT == 1
  static_cast<f32*>(y)[i64(r) * outputs + n] = value + addends[r][i];
#elif OUTPUT == 2
  static_cast<f32*>(y)[i64(r) * outputs + n] = gated(value, sum_of(results, 1, r, i));
#elif OUTPUT == 3
  u8* out = static_cast<u8*>(y);
  quantize_warp(gated(value, sum_of(results, 1, r, i)), out, i64(r) * (outputs / 32) + block,
                reinterpret_cast<GroupScale*>(out + quantized_bytes(capacity, outputs / 32)));
#elif OUTPUT == 6
  if (addend) value += addend[n];
  u32 index = r * outputs + n;
  static_cast<f32*>(y)[index] = value;
  u32x4* inboxes[] = PUSH_INBOXES;
  push_number(inboxes, epoch, rank, index, value);
#else
  if (addend) value += addend[n];
  if (Rotation rotation = rotation_of(n); rotation.exists) {
    bool second = rotation.second;
    i32 half = rotary_dim / 2, other = interleaved ? n ^ 1 : second ? n - half : n + half;
    f32 partner = sum_of(results, 0, r, interleaved ? i ^ 1 : i ^ HALF) + (addend ? addend[other] : 0.0f);
    f32 cosine = angles[r][i].x, sine = angles[r][i].y;
    value = second ? partner * sine + value * cosine : value * cosine - partner * sine;
  }
  if (n < q_width) {
    static_cast<f32*>(y)[i64(r) * q_width + n] = value;
    return;
  }
  i64 cell = row_cells[r];
  i32 v_width = outputs - q_width - k_width;
  if (n < q_width + k_width) {
    store_cached(keys, cells, cell, k_width, n - q_width, value);
  } else {
    store_cached(values, cells, cell, v_width, n - q_width - k_width, value);
  }
#endif
#endif
}

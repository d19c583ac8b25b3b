// Products in 8-bit integers with the weights of the experts that rows chose; those of one expert stand below another's. A
// choice is a row with one of its experts. Without a list of experts a row's choices are all that there are, in order, as a head's
// matrices are.
//
//   CHOICES  0 block y is a choice
//            1 block y is a row, whose choices' products are added up: each reads a part of the row of its own
//   INPUT    as in matvec.hip      RESIDENT   blocks that a multiprocessor should hold
//   JOINED   1 if an expert's up stands below its gate; otherwise all experts' ups stand below all gates
//   HOT      if it is defined, each expert is a matrix by itself, gate and up, and some have copies: see hot-experts.h
//   OUTPUT   0 f32   1 f32 + residual   2 gated(gate, up) * routing_weight, f32   3 the same, quantized
#define PARTS (OUTPUT >= 2 ? 2 : 1)
#include "matvec.h"
#include "activation.h"
#include "hot-experts.h"

static_assert(OUTPUTS <= LANES, "a lane stores an output");
/// Choices of a row at most, where they are added up.
constexpr i32 MAX_TOP_K = 32;

/// Quantized rows of the batch, those whose numbers stand in `rows`.
struct PickedRows {
  const u8* at;
  i32 capacity, groups;
  i32 rows[ROWS];

  DEVICE_MEMBER void load(i32 row, i32 group, u32x4& low, u32x4& high, RowScale& scale) const {
    i64 index = i64(rows[row]) * groups + min_of(group, groups - 1);
    const u32x4* halves = reinterpret_cast<const u32x4*>(at) + 2 * index;
    low = halves[0];
    high = halves[1];
    scale = Scales::from(reinterpret_cast<const GroupScale*>(at + quantized_bytes(capacity, groups))[index]);
  }
};

DEVICE i32 expert_of(const i32* expert_ids, i32 choice, i32 top_k) { return expert_ids ? expert_ids[choice] : choice % top_k; }

/// Whether a warp's chunks are all of one choice: of the only one, or of one of so many that are added up that they divide the warps.
#if CHOICES == 0
constexpr i32 CHOICE_WARPS = TEAM_WARPS;
#elif TOP_K > 0
constexpr i32 CHOICE_WARPS = TEAM_WARPS % TOP_K == 0 ? TEAM_WARPS / TOP_K : 0;
#else
constexpr i32 CHOICE_WARPS = 0;
#endif

/// The weights of the lines that the block multiplies, in the order in which its warps load them. Of choices that are added up, each has
/// its chunks of k behind those of the choice before it, or warps of its own.
struct Experts {
  P::Q::Planes quants;
  P::S::Planes scales;
  /// Experts there are, rows of each, groups of a row and chunks of it.
  i32 count, outputs, groups, row_chunks;
  Chunks chunks;
#ifdef HOT
  /// The matrices of the row's choices, if these are added up; the planes are otherwise the only one's.
  const u8* const* matrices;
#else
  /// The experts of the row's choices, or that of the only one.
  const i32* expert_ids;
#endif
  /// 2^32 / row_chunks, rounded up: choices are found without a division.
  u32 inverse;
  /// The choice of all of the warp's chunks, and the rows before those of its expert.
  i32 own_choice;
  u32 own_before;
  /// What is loaded next: the warp's chunks from its `first`th on, of lines in which the lane's groups begin at `starts`, or that are these
  /// rows of the first expert if the warp has several choices.
  i32 item, first;
  u32 starts[LINES];

  DEVICE_MEMBER void divide(i32 top_k) {
    row_chunks = tiles_across(groups);
    own_choice = CHOICE_WARPS > 0 ? team_warp() / CHOICE_WARPS : 0;
    own_before = rows_before(own_choice);
    chunks.count = CHOICE_WARPS > 0 ? row_chunks : top_k * row_chunks, chunks.warps = CHOICE_WARPS > 0 ? CHOICE_WARPS : TEAM_WARPS;
    inverse = 0xffffffffu / u32(row_chunks) + 1;
  }
  /// Of a chunk of several choices, its own.
  DEVICE_MEMBER i32 choice_of(i32 chunk) const {
    if (CHOICE_WARPS > 0) return 0;
    return row_chunks == 1 ? chunk : i32((u64(u32(chunk)) * inverse) >> 32);
  }
  /// Rows before those of a choice's expert.
  DEVICE_MEMBER u32 rows_before(i32 choice) const {
#ifdef HOT
    return 0;
#else
    u32 expert = min_of(max_of(expert_ids[choice], 0), count - 1);
#if JOINED
    return 2 * expert * u32(outputs);
#else
    return expert * u32(outputs);
#endif
#endif
  }
  /// Rows of the first expert before those of a part.
  DEVICE_MEMBER u32 part_row(u32 part) const {
#if JOINED || defined(HOT)
    return part * u32(outputs);
#else
    return part * u32(count) * u32(outputs);
#endif
  }

  DEVICE_MEMBER void find_item(i32 next) {
    item = next, first = 0;
    if (CHOICE_WARPS > 0 && STEPS && item * STEP_LINES % OUTPUTS != 0) {
      step_lines(starts, own_before + part_row(item * STEP_LINES / OUTPUTS) + outputs - 1, groups, chunks);
      return;
    }
    UNROLL for (i32 line = 0; line < LINES; line++) {
      u32 place = own_place(item, line);
      u32 row = part_row(place / OUTPUTS) + min_of(i32(block_x() * OUTPUTS + place % OUTPUTS), outputs - 1);
      starts[line] = CHOICE_WARPS > 0 ? row_start(own_before + row, groups) + chunks.first() * TILE_SIZE + own_part() : row;
    }
  }

  DEVICE_MEMBER void load(Batch& batch) {
    if (item >= ITEMS) return;
    UNROLL for (i32 u = 0; u < DEPTH; u++) {
      if (first + u >= chunks.share()) break;
      i32 chunk = chunks.step(first + u) + (CHOICE_WARPS > 0 ? 0 : chunks.first()), choice = choice_of(chunk);
      u32 step = (chunk - choice * row_chunks) * TILE_SIZE;
#if CHOICES == 1 && defined(HOT)
      PlaneCursor cursor = {const_cast<u8*>(matrices[CHOICE_WARPS > 0 ? own_choice : choice])};
      P::Q::Planes quants = P::Q::planes(cursor, tiled_groups(i64(PARTS) * outputs, groups));
      P::S::Planes scales = P::S::planes(cursor, tiled_groups(i64(PARTS) * outputs, groups));
#endif
      u32 before = CHOICE_WARPS > 0 ? 0 : rows_before(choice);
      UNROLL for (i32 line = 0; line < LINES; line++) {
        u32 start = CHOICE_WARPS > 0 ? starts[line] : row_start(starts[line] + before, groups) + own_part();
        i64 group = start + step;
        batch.quants[u][line] = P::Q::load(quants, group);
        batch.scales[u][line] = P::S::load(scales, group);
      }
    }
    first += DEPTH;
    if (first >= chunks.share()) find_item(item + 1);
  }

  DEVICE_MEMBER OwnGroup own_group(i32 i) const {
    i32 chunk = chunks.first() + i, choice = choice_of(chunk), group = TILE_GROUPS * (chunk - choice * row_chunks) + own_part();
    bool exists = chunks.has(i) && ((GROUPS > 0 && GROUPS % TILE_GROUPS == 0) || group < groups);
    return {(CHOICE_WARPS > 0 ? own_choice : choice) * groups + group, exists};
  }
};

/// The experts' biases: those of `weight`'s second part behind those of its first.
struct Biases {
  const f32* values;
  i32 count, outputs;

  /// That of output `n` of an expert.
  DEVICE_MEMBER f32 of(i32 part, i32 expert, i32 n) const {
    if (!values) return 0;
    return values[(i64(part) * count + min_of(max_of(expert, 0), count - 1)) * outputs + n];
  }
};

/// Stores what the warp has of row `y_row`, with the bias of its expert; `routing_weight` is that of its choice. Where choices are
/// added up, `expert_ids` are those of the row and `routing_weights` what their biases are multiplied by.
DEVICE void store(void* y, const f32* addend, const WarpSums& results, i32 r, i64 y_row, i64 y_rows, const Biases& biases,
                  const i32* expert_ids, f32 routing_weight, const f32* routing_weights, i32 top_k) {
  i32 i = lane(), outputs = biases.outputs, n = i32(block_x()) * OUTPUTS + i;
  if (i >= OUTPUTS || n >= outputs) return;
  [[maybe_unused]] i64 at = y_row * outputs + n;
  f32 value = sum_of(results, 0, r, i);
#if CHOICES == 1
  if (biases.values) {
    for (i32 j = 0; j < top_k; j++) value = fused_multiply_add(routing_weights[j], biases.of(0, expert_ids[j], n), value);
  }
#else
  value += biases.of(0, *expert_ids, n);
#endif
#if PARTS == 2
  f32 result = gated(value, sum_of(results, 1, r, i) + biases.of(1, *expert_ids, n)) * routing_weight;
#endif
#if OUTPUT == 0
  static_cast<f32*>(y)[at] = value;
#elif OUTPUT == 1
  static_cast<f32*>(y)[at] = value + addend[at];
#elif OUTPUT == 2
  static_cast<f32*>(y)[at] = result;
#else
  u8* out = static_cast<u8*>(y);
  quantize_warp(result, out, y_row * (outputs / 32) + block_x(), reinterpret_cast<GroupScale*>(out + u64(y_rows) * outputs));
#endif
}

/// `top_k` choices of a row; `x_per_row` rows of `x` a row, one or a part for each choice. `capacity` counts rows of the batch.
KERNEL_RESIDENT(expert_matvec, THREADS, RESIDENT, const i32* count, const void* x, const f32* norm, f32 epsilon,
                const u8* weight, HOT_PARAMETERS const i32* expert_ids, const f32* routing_weights, i32 expert_count, i32 outputs,
                i32 groups_of_row, i32 capacity, i32 choices_of_row, i32 x_per_row, const f32* addend, const f32* bias, void* y) {
  const i32 groups = GROUPS > 0 ? GROUPS : groups_of_row, top_k = GROUPS > 0 ? TOP_K : choices_of_row;
  SHARED WarpSums results;
  Experts experts;
#ifndef HOT
  PlaneCursor cursor = {const_cast<u8*>(weight)};
  i64 stored_groups = tiled_groups(i64(PARTS) * expert_count * outputs, groups);
  experts.quants = P::Q::planes(cursor, stored_groups);
  experts.scales = P::S::planes(cursor, stored_groups);
#endif
  experts.count = expert_count, experts.outputs = outputs, experts.groups = groups;
  Biases biases = {bias, expert_count, outputs};
  P::prepare(THREADS);
  i32 rows = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  i32 warp = thread() >> 5;
  DYNAMIC_SHARED(staged);
  [[maybe_unused]] SHARED f32 square_sums[WARPS];
  i32 own = block_y(), row = CHOICES == 1 ? own : own / top_k;
  if (row >= rows) return;
#if CHOICES == 1
  SHARED i32 kept[MAX_TOP_K];
  if (i32(thread()) < top_k) kept[thread()] = expert_ids[i64(row) * top_k + thread()];
  i32 row_groups = top_k * groups, x_row = row;
  f32 routing_weight = 1;
  const f32* bias_weights = bias ? routing_weights + i64(row) * top_k : nullptr;
#else
  i32 kept[1] = {expert_of(expert_ids, own, top_k)};
  i32 row_groups = groups, x_row = x_per_row == 1 ? row : own;
  f32 routing_weight = routing_weights ? routing_weights[own] : 1.0f;
  const f32* bias_weights = nullptr;
#endif
#ifdef HOT
  auto matrix = [&](i32 expert) {
    return matrix_of(min_of(max_of(expert, 0), expert_count - 1), weight, slots, copies, pages);
  };
#if CHOICES == 1
  // A thread looks up the expert that it has read itself.
  SHARED const u8* matrices[MAX_TOP_K];
  if (i32(thread()) < top_k) matrices[thread()] = matrix(kept[thread()]);
  experts.matrices = matrices;
#else
  PlaneCursor cursor = {const_cast<u8*>(matrix(kept[0]))};
  experts.quants = P::Q::planes(cursor, tiled_groups(i64(PARTS) * outputs, groups));
  experts.scales = P::S::planes(cursor, tiled_groups(i64(PARTS) * outputs, groups));
#endif
#else
  experts.expert_ids = kept;
#endif
  // The first batches are on their way while activations are staged, as far as registers go.
  Batch even, odd;
  if (CHOICES == 1 || P::HAS_GRID) barrier();
  experts.divide(top_k);
  experts.find_item(0);
  experts.load(even);
#if INPUT == 0
  experts.load(odd);
  PickedRows activations = {static_cast<const u8*>(x), capacity * (CHOICES == 1 ? 1 : x_per_row), row_groups, {x_row}};
#else
  Eight norm_weight[PASSES];
#if INPUT == 2
  UNROLL for (i32 p = 0; p < PASSES; p++) {
    norm_weight[p] = load_eight(norm, min_of(p * THREADS + i32(thread()), 4 * row_groups - 1));
  }
#endif
  const f32* from = static_cast<const f32*>(x) + i64(x_row) * 32 * row_groups;
  stage(staged, square_sums, from, norm, norm_weight, epsilon, 1, row_groups);
  Activations activations = staged_activations(staged, row_groups);
  experts.load(odd);
  barrier();
#endif
  multiply(results, experts, even, odd, activations);
  barrier();
  if (warp == 0) {
    i64 y_rows = i64(capacity) * (CHOICES == 1 ? 1 : top_k);
    store(y, addend, results, 0, own, y_rows, biases, kept, routing_weight, bias_weights, top_k);
  }
}

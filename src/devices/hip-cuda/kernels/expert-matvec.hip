// Products in 8-bit integers with the weights of the experts that rows chose; those of one expert stand below another's. A
// choice is a row with one of its experts. Without a list of experts a row's choices are all that there are, in order, as a head's
// matrices are.
//
//   CHOICES  0 block y is a choice
//            1 block y is a row, whose choices' products are added up: each reads a part of the row of its own
//   INPUT    as in matvec.hip
//   JOINED   1 if an expert's up stands below its gate; otherwise all experts' ups stand below all gates
//   OUTPUT   0 f32   1 f32 + residual   2 gated(gate, up) * routing_weight, f32   3 the same, quantized
#include "matvec.h"
#include "activation.h"

#define PARTS (OUTPUT >= 2 ? 2 : 1)
constexpr i32 ITEMS = OUTPUTS * PARTS / (WARPS * LINES);
/// Choices of a row at most, where they are added up.
constexpr i32 MAX_TOP_K = 32;

/// Quantized rows of the batch, those whose numbers stand in `rows`.
struct PickedRows {
  const u8* at;
  i32 capacity, groups;
  i32 rows[ROWS];

  DEVICE_MEMBER void load(i32 row, i32 group, u32x4& low, u32x4& high, GroupScale& scale) const {
    i64 index = i64(rows[row]) * groups + group;
    const u32x4* halves = reinterpret_cast<const u32x4*>(at) + 2 * index;
    low = halves[0];
    high = halves[1];
    scale = reinterpret_cast<const GroupScale*>(at + quantized_bytes(capacity, groups))[index];
  }
};

DEVICE i32 expert_of(const i32* expert_ids, i32 choice, i32 top_k) { return expert_ids ? expert_ids[choice] : choice % top_k; }

struct Experts {
  P::Q::Planes quants;
  P::S::Planes scales;
  /// Experts there are, rows of each, groups of a row.
  i32 count, outputs, groups;

  /// Loads groups of the warp's lines of step `step`; the expert is that of the choice that a group belongs to.
  DEVICE_MEMBER void load(Batch& batch, i32 step, i32 rounds, const i32* expert_ids, i32 all_groups) const {
    i32 item = step / rounds, first = step % rounds * (32 * DEPTH);
    UNROLL for (i32 line = 0; line < LINES; line++) {
      i32 place = item * (WARPS * LINES) + i32(thread() >> 5) * LINES + line;
      i32 n = min_of(i32(block_x()) * OUTPUTS + place % OUTPUTS, outputs - 1), part = place / OUTPUTS;
      UNROLL for (i32 u = 0; u < DEPTH; u++) {
        i32 at = min_of(first + 32 * u + i32(lane()), all_groups - 1);
        i32 choice = CHOICES == 1 ? at / groups : 0;
        i32 expert = min_of(max_of(expert_ids[choice], 0), count - 1);
#if JOINED
        i32 matrix = 2 * expert + part;
#else
        i32 matrix = part * count + expert;
#endif
        i64 group = (i64(matrix) * outputs + n) * groups + at - choice * groups;
        batch.quants[u][line] = P::Q::load(quants, group);
        batch.scales[u][line] = P::S::load(scales, group);
      }
    }
  }
};

/// The products of some rows with the lines of the block, into `results`.
template <class Rows>
DEVICE void multiply(f32 (*results)[ROWS][OUTPUTS], const Experts& experts, const i32* expert_ids, const Rows& x, i32 all_groups) {
  i32 rounds = (all_groups + 32 * DEPTH - 1) / (32 * DEPTH), steps = ITEMS * rounds, warp = thread() >> 5;
  Batch even, odd;
  experts.load(even, 0, rounds, expert_ids, all_groups);
  if (steps > 1) experts.load(odd, 1, rounds, expert_ids, all_groups);
  f32 sums[ROWS][LINES] = {};
  auto take = [&](Batch& batch, i32 step) {
    if (step >= steps) return;
    add_batch(sums, batch, x, step % rounds * (32 * DEPTH), all_groups);
    if (step + 2 < steps) experts.load(batch, step + 2, rounds, expert_ids, all_groups);
    if ((step + 1) % rounds != 0) return;
    UNROLL for (i32 r = 0; r < ROWS; r++) {
      UNROLL for (i32 line = 0; line < LINES; line++) {
        f32 sum = warp_sum(sums[r][line]);
        i32 place = step / rounds * (WARPS * LINES) + warp * LINES + line;
        if (lane() == 0) results[place / OUTPUTS][r][place % OUTPUTS] = sum;
        sums[r][line] = 0;
      }
    }
  };
  for (i32 step = 0; step < steps; step += 2) {
    take(even, step);
    take(odd, step + 1);
  }
  barrier();
}

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
DEVICE void store(void* y, const f32* addend, const f32 (*results)[ROWS][OUTPUTS], i32 r, i64 y_row, i64 y_rows, const Biases& biases,
                  const i32* expert_ids, f32 routing_weight, const f32* routing_weights, i32 top_k) {
  i32 i = lane(), outputs = biases.outputs, n = i32(block_x()) * OUTPUTS + i;
  if (i >= OUTPUTS || n >= outputs) return;
  [[maybe_unused]] i64 at = y_row * outputs + n;
  f32 value = results[0][r][i];
#if CHOICES == 1
  if (biases.values) {
    for (i32 j = 0; j < top_k; j++) value = fused_multiply_add(routing_weights[j], biases.of(0, expert_ids[j], n), value);
  }
#else
  value += biases.of(0, *expert_ids, n);
#endif
#if PARTS == 2
  f32 result = gated(value, results[1][r][i] + biases.of(1, *expert_ids, n)) * routing_weight;
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
KERNEL_RESIDENT(expert_matvec, THREADS, (ROWS > 2 ? 2 : 3), const i32* count, const void* x, const f32* norm, f32 epsilon,
                const u8* weight, const i32* expert_ids, const f32* routing_weights, i32 expert_count, i32 outputs, i32 groups, i32 capacity,
                i32 top_k, i32 x_per_row, const f32* addend, const f32* bias, void* y) {
  SHARED f32 results[PARTS][ROWS][OUTPUTS];
  PlaneCursor cursor = {const_cast<u8*>(weight)};
  Experts experts;
  i64 all_groups = i64(PARTS) * expert_count * outputs * groups;
  experts.quants = P::Q::planes(cursor, all_groups);
  experts.scales = P::S::planes(cursor, all_groups);
  experts.count = expert_count, experts.outputs = outputs, experts.groups = groups;
  Biases biases = {bias, expert_count, outputs};
  grid_launch_dependents();
  grid_dependency_wait();
  i32 rows = *count, warp = thread() >> 5;
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
#if INPUT == 0
  barrier();
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
  Activations activations = {staged, ROWS, row_groups};
  barrier();
#endif
  multiply(results, experts, kept, activations, row_groups);
  if (warp == 0) {
    i64 y_rows = i64(capacity) * (CHOICES == 1 ? 1 : top_k);
    store(y, addend, results, 0, own, y_rows, biases, kept, routing_weight, bias_weights, top_k);
  }
}

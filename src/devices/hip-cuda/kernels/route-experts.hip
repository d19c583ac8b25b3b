// Routes rows to their top-k experts: a block of one warp takes a row. A lane holds the experts 32 apart.
//
//   SIGMOID  gates are sigmoids, not a softmax; 2: roots of softpluses     NORMALIZED  routing weights are divided by their sum
//   CHOSEN   if it is defined, `bias` are the experts of each row, as numbers
//   COUNTED  if it is defined, `uses` counts how often each expert is chosen
#include "activation.h"
#include "reduce.h"

constexpr f32 LOWEST = -1e38f;
/// ggml's clamp of the sum that routing weights are divided by.
constexpr f32 MIN_WEIGHT_SUM = 6.103515625e-5f;

constexpr i32 CHOICE_SLOTS = (TOP_K + 31) / 32;
/// Experts of a lane.
constexpr i32 OWN_EXPERTS = (EXPERTS + 31) / 32;
DEVICE i32 own_expert(i32 s) { return 32 * s + i32(lane()); }

/// Larger for larger scores, of equal ones for the lower place.
DEVICE u64 ranked(f32 score, i32 place) {
  u32 bits = bit_cast<u32>(score);
  bits = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  return (u64(bits) << 32) | u32(~place);
}

#if GROUPS != TOP_K_GROUPS
constexpr i32 GROUP_SIZE = EXPERTS / GROUPS;

/// Leaves the best groups, by the sum of each one's two best scores.
DEVICE void drop_groups(f32* scores) {
  f32 sums[GROUPS];
  for (i32 g = 0; g < GROUPS; g++) {
    f32 best = LOWEST, second = GROUP_SIZE == 1 ? 0.0f : LOWEST;
    for (i32 i = 0; i < GROUP_SIZE; i++) {
      f32 score = scores[g * GROUP_SIZE + i];
      if (GROUP_SIZE > 1) second = max_of(second, min_of(score, best));
      best = max_of(best, score);
    }
    sums[g] = best + second;
  }
  for (i32 dropped = 0; dropped < GROUPS - TOP_K_GROUPS; dropped++) {
    i32 worst = 0;
    for (i32 g = 1; g < GROUPS; g++) {
      if (sums[g] <= sums[worst]) worst = g;
    }
    sums[worst] = -LOWEST;
    for (i32 i = 0; i < GROUP_SIZE; i++) scores[worst * GROUP_SIZE + i] = 2 * LOWEST;
  }
}
#endif

#ifdef COUNTED
#define USES_PARAMETER u32 *uses,
#else
#define USES_PARAMETER
#endif

KERNEL(route_experts, 32, const i32* count, const f32* logits, const f32* bias, i32* experts, f32* routing_weights,
       USES_PARAMETER f32 scale) {
  SHARED f32 gates[EXPERTS];
#if GROUPS != TOP_K_GROUPS && !defined(CHOSEN)
  SHARED f32 scores[EXPERTS];
#endif
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  i32 row = block_x();
  if (row >= used) return;
  const f32* own = logits + i64(row) * EXPERTS;
  f32 own_gates[OWN_EXPERTS], factor = 1;
  UNROLL for (i32 s = 0; s < OWN_EXPERTS; s++) own_gates[s] = own[min_of(own_expert(s), EXPERTS - 1)];
#if SIGMOID == 2
  UNROLL for (i32 s = 0; s < OWN_EXPERTS; s++) own_gates[s] = square_root(softplus_of(own_gates[s]));
#elif SIGMOID
  UNROLL for (i32 s = 0; s < OWN_EXPERTS; s++) own_gates[s] = sigmoid(own_gates[s]);
#else
  f32 largest = LOWEST, sum = 0;
  UNROLL for (i32 s = 0; s < OWN_EXPERTS; s++) largest = max_of(largest, own_gates[s]);
  largest = warp_max(largest);
  UNROLL for (i32 s = 0; s < OWN_EXPERTS; s++) {
    own_gates[s] = exponential(own_gates[s] - largest);
    if (own_expert(s) < EXPERTS) sum += own_gates[s];
  }
  factor = 1.0f / warp_sum(sum);
#endif
  UNROLL for (i32 s = 0; s < OWN_EXPERTS; s++) {
    i32 e = own_expert(s);
    own_gates[s] *= factor;
    if (e < EXPERTS) gates[e] = own_gates[s];
#if GROUPS != TOP_K_GROUPS && !defined(CHOSEN)
    if (e < EXPERTS) scores[e] = bias ? own_gates[s] + bias[e] : own_gates[s];
#endif
  }
  barrier();
#if GROUPS != TOP_K_GROUPS && !defined(CHOSEN)
  if (lane() == 0) drop_groups(scores);
  barrier();
#endif
#ifndef CHOSEN
  // Ranks of the lane's own experts; those that are chosen, or do not exist, come last.
  u64 ranks[OWN_EXPERTS];
  UNROLL for (i32 s = 0; s < OWN_EXPERTS; s++) {
    i32 e = own_expert(s);
#if GROUPS != TOP_K_GROUPS
    f32 score = scores[min_of(e, EXPERTS - 1)];
#else
    f32 score = bias ? own_gates[s] + bias[min_of(e, EXPERTS - 1)] : own_gates[s];
#endif
    ranks[s] = e < EXPERTS ? ranked(score, e) : 0;
  }
#endif
  f32 total = 0;
  // Choice j is kept by lane j % 32: what is written once need not be read again.
  i32 places[CHOICE_SLOTS];
  f32 weights[CHOICE_SLOTS];
  UNROLL for (i32 slot = 0; slot < CHOICE_SLOTS; slot++) {
    for (i32 j = 32 * slot; j < min_of(32 * slot + 32, TOP_K); j++) {
#ifdef CHOSEN
      i32 place = max_of(0, min_of(i32(bias[i64(row) * TOP_K + j]), EXPERTS - 1));
#else
      u64 best = 0;
      UNROLL for (i32 s = 0; s < OWN_EXPERTS; s++) best = max_of(best, ranks[s]);
      u32 score = u32(best >> 32), highest = warp_max_word(score);
      i32 place = min_of(i32(~warp_max_word(score == highest ? u32(best) : 0)), EXPERTS - 1);
#endif
      total += gates[place];
#ifndef CHOSEN
      UNROLL for (i32 s = 0; s < OWN_EXPERTS; s++) ranks[s] = own_expert(s) == place ? 0 : ranks[s];
#endif
      if (i32(lane()) == j % 32) places[slot] = place, weights[slot] = gates[place];
#ifdef COUNTED
      if (lane() == 0) atomic_add(uses + place, 1u);
#endif
    }
  }
  if (NORMALIZED) scale /= max_of(total, MIN_WEIGHT_SUM);
  UNROLL for (i32 slot = 0; slot < CHOICE_SLOTS; slot++) {
    i32 j = 32 * slot + lane();
    if (j < TOP_K) experts[i64(row) * TOP_K + j] = places[slot], routing_weights[i64(row) * TOP_K + j] = weights[slot] * scale;
  }
}

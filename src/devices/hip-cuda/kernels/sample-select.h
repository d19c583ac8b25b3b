// Selecting among a row's tokens by a block of SAMPLE_THREADS. A token's rank is a 64-bit number: its logit in the order of
// numbers, then its id downwards, so that equal logits rank by lower id and "the best ones" are all tokens from a rank on.
#pragma once
#include "functions.h"
#include "reduce.h"

#define SAMPLE_THREADS 1024
#define SAMPLE_WARPS (SAMPLE_THREADS / 32)
#define DIGIT_BITS 11
#define DIGITS (1 << DIGIT_BITS)
#define LIST_CAPACITY SAMPLE_THREADS

#define MINUS_INFINITY bit_cast<f32>(0xff800000u)
#define PLUS_INFINITY bit_cast<f32>(0x7f800000u)
/// Weights are whole multiples of 2^-40, so that their sums do not depend on the order.
constexpr f32 WEIGHT_ONE = 1099511627776.0f;

/// Tokens by their logits: all of a vocabulary (`ids` null), or a list.
struct Tokens {
  const f32* logits;
  const i32* ids;
  i32 count;

  DEVICE_MEMBER i32 id(i32 i) const { return ids ? ids[i] : i; }
};

struct Workspace {
  u64 weights[DIGITS];
  u32 counts[DIGITS];
  u64 warp_weights[SAMPLE_WARPS];
  f64 warp_sums[SAMPLE_WARPS];
  u64 found;
  u64 before;
  u32 digit, alone;
  i32 chosen;
  i32 list_count;
  f32 list_logits[LIST_CAPACITY], sorted_logits[LIST_CAPACITY];
  i32 list_ids[LIST_CAPACITY], sorted_ids[LIST_CAPACITY];
};

/// Numbers in their order as unsigned words; both zeros are one.
DEVICE u32 ordered(f32 value) {
  u32 bits = bit_cast<u32>(value + 0.0f);
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
DEVICE f32 from_ordered(u32 word) { return bit_cast<f32>(word & 0x80000000u ? word & 0x7fffffffu : ~word); }
DEVICE u64 ordered(f64 value) {
  u64 bits = bit_cast<u64>(value + 0.0);
  return bits >> 63 ? ~bits : bits | 0x8000000000000000ull;
}
/// The rank of a token that can be chosen, 0 for any other.
DEVICE u64 rank_of(f32 logit, i32 id) {
  return logit > MINUS_INFINITY ? (u64(ordered(logit)) << 32) | u32(~id) : 0;
}
/// What ranks from here on is no rank.
constexpr u64 NON_FINITE_RANK = u64(0xff800000u) << 32;
DEVICE i32 id_of(u64 rank) { return i32(~u32(rank)); }
DEVICE f32 logit_of(u64 rank) { return from_ordered(u32(rank >> 32)); }

NOINLINE u64 weight_of(f32 logit, f32 largest, f64 per_temperature) {
  if (logit == largest) return u64(WEIGHT_ONE);
  return u64(exponential(f32((f64(logit) - f64(largest)) * per_temperature)) * WEIGHT_ONE);
}

NOINLINE u64 block_total(u64 value, Workspace& shared) {
  barrier();
  u64 total = block_sum<SAMPLE_WARPS>(value, shared.warp_weights);
  barrier();
  return total;
}

/// The largest of the threads' values.
NOINLINE u64 block_max(u64 value, Workspace& shared) {
  value = warp_max(value);
  barrier();
  if (lane() == 0) shared.warp_weights[thread() >> 5] = value;
  barrier();
  u64 largest = shared.warp_weights[0];
  for (i32 warp = 1; warp < SAMPLE_WARPS; warp++) largest = max_of(largest, shared.warp_weights[warp]);
  return largest;
}

/// Within a warp, the sum over the lanes up to this one.
DEVICE u64 sum_up_to(u64 value) {
  UNROLL for (i32 step = 1; step < 32; step <<= 1) {
    u32 from = (lane() - step) & 31, low = shuffle_from(u32(value), from), high = shuffle_from(u32(value >> 32), from);
    if (i32(lane()) >= step) value += (u64(high) << 32) | low;
  }
  return value;
}

/// Finds, from the highest digit down, the first at which the weights from the top reach `goal`: the digit, what lies above
/// it, and whether all that have it are wanted.
NOINLINE void find_digit(u64 goal, Workspace& shared) {
  i32 warp = thread() >> 5;
  constexpr i32 EACH = DIGITS / SAMPLE_WARPS;
  i32 top = DIGITS - 1 - warp * EACH - 2 * i32(lane());
  u64 first = shared.weights[top], second = shared.weights[top - 1], upto = sum_up_to(first + second);
  if (lane() == 31) shared.warp_weights[warp] = upto;
  barrier();
  u64 before = upto - first - second;
  for (i32 w = 0; w < warp; w++) before += shared.warp_weights[w];
  if (before < goal && before + first + second >= goal) {
    bool later = before + first < goal;
    u32 digit = u32(later ? top - 1 : top);
    shared.digit = digit;
    shared.before = later ? before + first : before;
    shared.alone = shared.counts[digit] == 1 || shared.before + shared.weights[digit] == goal;
  }
  barrier();
}

/// The least key such that the weights of all tokens from it up reach `goal` (at least 1, at most their sum). `key_of(i)` is 0
/// for tokens that do not take part.
template <class KeyOf, class WeightOf>
NOINLINE u64 radix_select(i32 count, u64 goal, Workspace& shared, KeyOf key_of, WeightOf weight_of_token) {
  u64 prefix = 0;
  for (i32 shift = 64 - DIGIT_BITS, bits = DIGIT_BITS;; shift -= DIGIT_BITS) {
    if (shift < 0) bits += shift, shift = 0;
    barrier();
    for (i32 i = thread(); i < DIGITS; i += SAMPLE_THREADS) shared.weights[i] = 0, shared.counts[i] = 0;
    barrier();
    bool whole = shift + bits == 64;
    for (i32 i = thread(); i < count; i += SAMPLE_THREADS) {
      u64 key = key_of(i);
      if (key == 0 || (!whole && key >> (shift + bits) != prefix)) continue;
      u32 digit = u32(key >> shift) & ((1u << bits) - 1);
      atomic_add(&shared.weights[digit], weight_of_token(i));
      atomic_add(&shared.counts[digit], 1u);
    }
    barrier();
    find_digit(goal, shared);
    prefix = (prefix << bits) | shared.digit;
    goal -= shared.before;
    if (shared.alone || shift == 0) return prefix << shift;
  }
}

/// Gathers the tokens of at least a rank, as many as the list holds, and sorts them by id.
NOINLINE Tokens gather(const Tokens& tokens, u64 least, Workspace& shared) {
  barrier();
  if (thread() == 0) shared.list_count = 0;
  barrier();
  for (i32 i = thread(); i < tokens.count; i += SAMPLE_THREADS) {
    f32 logit = tokens.logits[i];
    i32 id = tokens.id(i);
    u64 rank = rank_of(logit, id);
    if (rank == 0 || rank < least) continue;
    u32 at = atomic_add(reinterpret_cast<u32*>(&shared.list_count), 1u);
    shared.list_logits[at] = logit;
    shared.list_ids[at] = id;
  }
  barrier();
  i32 count = shared.list_count, own = thread();
  if (own < count) {
    i32 place = 0;
    for (i32 i = 0; i < count; i++) place += shared.list_ids[i] < shared.list_ids[own];
    shared.sorted_ids[place] = shared.list_ids[own];
    shared.sorted_logits[place] = shared.list_logits[own];
  }
  barrier();
  return {shared.sorted_logits, shared.sorted_ids, count};
}

/// The rank of the k-th best token, 1 where there are fewer. For short lists, most tokens are left out at once: the k-th best
/// of the threads' own best ones bounds it from below.
NOINLINE u64 top_k_rank(const Tokens& tokens, i32 k, Workspace& shared) {
  u64 own = 0;
  i32 known = 0;
  for (i32 i = thread(); i < tokens.count; i += SAMPLE_THREADS) {
    u64 rank = rank_of(tokens.logits[i], tokens.id(i));
    own = max_of(own, rank);
    known += rank != 0;
  }
  u64 candidates = block_total(u64(known), shared);
  if (candidates <= u64(k)) return 1;
  u64 bound = 1;
  u64 threads = block_total(u64(own != 0), shared);
  if (u64(k) <= threads) {
    bound = radix_select(
        SAMPLE_THREADS, u64(k), shared, [&](i32) { return own; }, [](i32) { return u64(1); });
  }
  u64 least = radix_select(
      tokens.count, u64(k), shared,
      [&](i32 i) {
        u64 rank = rank_of(tokens.logits[i], tokens.id(i));
        return rank >= bound ? rank : 0;
      },
      [](i32) { return u64(1); });
  return max_of(least, bound);
}

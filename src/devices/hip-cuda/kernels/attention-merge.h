// How attention of single rows merges what it computed apart: softmax statistics with sums of values that belong to them.
//
//   VALUE   size of a head's values       OUT_TYPE   what results are: 0 f32   1 quantized rows   2 f16
//   MERGE   if a kernel computes what is merged: 0 one block has a row's whole context   1 another launch merges   2 the last block does
#pragma once
#include "attention-scores.h"
#include "functions.h"
#include "halves.h"
#include "quantized.h"

/// A head's sums in one partition of the context, and behind them its largest score and the total of its weights.
#define PARTIAL (VALUE + 2)

/// Most partitions of a row's context: `MAX_PARTITIONS` of src/devices/hip-cuda/lowering/attention.ts.
constexpr i32 MAX_PARTITIONS = 128;

struct Merged {
  f32 largest, total;
};

/// Writes element `i` of a row of `width`; `capacity` is how many rows there is room for.
DEVICE void write_result(void* out, i32 capacity, i32 row, i32 width, i32 i, f32 value) {
#if OUT_TYPE == 1
  u8* bytes = static_cast<u8*>(out);
  quantize_warp(value, bytes, (i64(row) * width + i) >> 5, reinterpret_cast<GroupScale*>(bytes + i64(capacity) * width));
#elif OUT_TYPE == 2
  store_half(static_cast<u16*>(out), row, width, i, value);
#else
  static_cast<f32*>(out)[i64(row) * width + i] = value;
#endif
}

/// Where the results of some of a row's heads go, `head` and those after it, and in how many partitions they are computed.
struct RowOfHeads {
  void* out;
  f32* partials;
  u32* arrivals;
  /// Rows there is room for, the row, all its heads; the first of the block's, and how many there are.
  i32 capacity, row, all_heads, head, heads;
  i32 partitions, used_partitions;

  DEVICE_MEMBER f32* partials_of(i32 h) const { return partials + (i64(row) * all_heads + head + h) * partitions * PARTIAL; }
  /// Writes element `i` of the block's heads side by side.
  DEVICE_MEMBER void write(i32 i, f32 value) const { write_result(out, capacity, row, all_heads * VALUE, head * VALUE + i, value); }
};

/// What merging partitions takes of a block's shared memory, for MOST heads.
template <i32 MOST>
struct MergeMemory {
  f32 weights[MOST][MAX_PARTITIONS], divisors[MOST];
};

/// Merges the partitions of a row's heads, in all threads of a block.
template <i32 MOST>
DEVICE void merge_partitions(MergeMemory<MOST>& shared, const RowOfHeads& of, const Scores& scores) {
  // Both halves of a wave of 64 take as many turns: their shuffles are one instruction.
  for (i32 first = 0; first < of.heads; first += THREADS / LANES) {
    i32 h = first + thread() / LANES;
    bool has_head = h < of.heads;
    i32 used = has_head ? of.used_partitions : 0;
    const f32* partial = of.partials_of(has_head ? h : 0);
    f32 largest = LOWEST, total = 0;
    for (i32 s = lane(); s < used; s += LANES) largest = max_of(largest, partial[s * PARTIAL + VALUE]);
    UNROLL for (i32 step = LANES / 2; step > 0; step >>= 1) largest = max_of(largest, shuffle_xor(largest, step));
    for (i32 s = lane(); s < used; s += LANES) {
      f32 weight = softmax_weight(partial[s * PARTIAL + VALUE] - largest);
      shared.weights[h][s] = weight;
      total = fused_multiply_add(weight, partial[s * PARTIAL + VALUE + 1], total);
    }
    UNROLL for (i32 step = LANES / 2; step > 0; step >>= 1) total += shuffle_xor(total, step);
    if (has_head && lane() == 0) shared.divisors[h] = denominator(largest, total, of.head + h, scores);
  }
  barrier();
  // All of a thread's elements at once: one block reads what many wrote, and would wait for each.
  constexpr i32 OWN = (MOST * VALUE + THREADS - 1) / THREADS;
  const f32* partials = of.partials_of(0);
  i32 heads[OWN], places[OWN];
  f32 sums[OWN] = {};
  UNROLL for (i32 own = 0; own < OWN; own++) {
    i32 i = thread() + own * THREADS;
    heads[own] = i < of.heads * VALUE ? i / VALUE : 0;
    places[own] = heads[own] * of.partitions * PARTIAL + i % VALUE;
  }
#if defined(GPU_NVIDIA)
#pragma unroll (OWN < 16 ? 32 / OWN : 2)
#endif
  for (i32 s = 0; s < of.used_partitions; s++) {
    UNROLL for (i32 own = 0; own < OWN; own++) {
      sums[own] = fused_multiply_add(shared.weights[heads[own]][s], partials[places[own] + s * PARTIAL], sums[own]);
    }
  }
  UNROLL for (i32 own = 0; own < OWN; own++) {
    i32 i = thread() + own * THREADS;
    if (i < of.heads * VALUE) of.write(i, sums[own] / shared.divisors[heads[own]]);
  }
}

#ifdef MERGE
/// Parts of a block that a thread reads at once.
#define PARTS_AT_ONCE 32

/// What PARTS of a block computed of up to MOST heads, beside the sums that belong to their largest scores.
template <i32 PARTS, i32 MOST>
struct RowParts {
  Merged weights[PARTS][MOST], merged[MOST];
#if MERGE == 2
  MergeMemory<MOST> memory;
  u32 arrived;
#endif
};

/// Merges a block's parts with their sums in shared memory, in all its threads, and its partition with those of other blocks if it is
/// the last one of them. Begins with a barrier, behind which the parts are complete.
template <i32 PARTS, i32 MOST, i32 WIDTH>
DEVICE void finish_row(RowParts<PARTS, MOST>& shared, const f32 (*sums)[MOST][WIDTH], const RowOfHeads& to, const Scores& of) {
  barrier();
  // Both halves of a wave of 64 take as many turns: their shuffles are one instruction.
  for (i32 first = 0; first < MOST; first += THREADS / LANES) {
    i32 h = first + thread() / LANES;
    i32 parts = h < MOST ? PARTS : 0;
    Merged merged = {LOWEST, 0};
    for (i32 p = lane(); p < parts; p += LANES) merged.largest = max_of(merged.largest, shared.weights[p][h].largest);
    UNROLL for (i32 step = LANES / 2; step > 0; step >>= 1) merged.largest = max_of(merged.largest, shuffle_xor(merged.largest, step));
    for (i32 p = lane(); p < parts; p += LANES) {
      Merged& part = shared.weights[p][h];
      // From here on the parts' largest scores are the factors of their sums.
      part.largest = softmax_weight(part.largest - merged.largest);
      merged.total = fused_multiply_add(part.total, part.largest, merged.total);
    }
    UNROLL for (i32 step = LANES / 2; step > 0; step >>= 1) merged.total += shuffle_xor(merged.total, step);
    if (parts > 0 && lane() == 0) shared.merged[h] = merged;
  }
  barrier();
  bool is_whole = MERGE == 0 || (MERGE == 2 && to.used_partitions == 1);
  for (i32 i = thread(); i < to.heads * VALUE; i += THREADS) {
    i32 h = i / VALUE, element = i % VALUE;
    f32 sum = 0;
    // Of short heads there are many parts: the compiler would read all of them first.
    UNROLL_BY(PARTS_AT_ONCE) for (i32 p = 0; p < PARTS; p++) {
      sum = fused_multiply_add(shared.weights[p][h].largest, sums[p][h][element], sum);
    }
    Merged merged = shared.merged[h];
    if (is_whole) {
      to.write(i, sum / denominator(merged.largest, merged.total, to.head + h, of));
    } else {
      f32* partial = to.partials_of(h) + block_z() * PARTIAL;
      partial[element] = sum;
      if (element == 0) partial[VALUE] = merged.largest, partial[VALUE + 1] = merged.total;
    }
  }
#if MERGE == 2
  if (is_whole) return;
  fence_device();
  barrier();
  if (thread() == 0) shared.arrived = atomic_add(to.arrivals, 1u);
  barrier();
  if (shared.arrived != u32(to.used_partitions - 1)) return;
  fence_device();
  merge_partitions(shared.memory, to, of);
#endif
}
#endif

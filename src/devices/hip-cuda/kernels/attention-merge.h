// How attention of single rows merges what it computed apart: softmax statistics with sums of values that belong to them.
//
//   VALUE   size of a head's values       OUT_TYPE   what results are: 0 f32   1 quantized rows   2 f16
#pragma once
#include "attention-scores.h"
#include "functions.h"
#include "halves.h"
#include "quantized.h"

/// A head's sums in one partition of the context, and behind them its largest score and the total of its weights.
#define PARTIAL (VALUE + 2)

/// Most partitions of a row's context: `MAX_PARTITIONS` of src/devices/hip-cuda/lowering/attention.ts.
constexpr i32 MAX_PARTITIONS = 64;

struct Merged {
  f32 largest, total;
};

/// The combined softmax statistics of several parts: `at(i)` gives the i-th part's largest score and total.
template <class At>
DEVICE Merged merge(i32 count, At at) {
  Merged merged = {LOWEST, 0};
  for (i32 i = 0; i < count; i++) merged.largest = max_of(merged.largest, at(i).largest);
  for (i32 i = 0; i < count; i++) merged.total += at(i).total * softmax_weight(at(i).largest - merged.largest);
  return merged;
}

/// Writes element `i` of a row of `width`; `capacity` is how many rows there is room for.
DEVICE void write_result(void* out, i32 capacity, i32 row, i32 width, i32 i, f32 value) {
#if OUT_TYPE == 1
  u8* bytes = static_cast<u8*>(out);
  quantize_warp(value, bytes, (i64(row) * width + i) >> 5, reinterpret_cast<GroupScale*>(bytes + i64(capacity) * width));
#elif OUT_TYPE == 2
  store_half(static_cast<u16*>(out) + i64(row) * padded_width(width), i, value);
#else
  static_cast<f32*>(out)[i64(row) * width + i] = value;
#endif
}

/// Partial results of some of a row's heads, `head` and those after it.
struct Partials {
  const f32* at;
  i32 partitions, used, head, heads;
};

/// What merging takes of a block's shared memory, for MOST heads.
template <i32 MOST>
struct MergeMemory {
  f32 weights[MOST][MAX_PARTITIONS], divisors[MOST];
};

/// Merges partitions, in all threads of a block: `write(i, value)` gets element `i` of the heads' results side by side.
template <i32 MOST, class Write>
DEVICE void merge_partitions(MergeMemory<MOST>& shared, const Partials& of, const Scores& scores, Write write) {
  // Both halves of a wave of 64 take as many turns: their shuffles are one instruction.
  for (i32 first = 0; first < of.heads; first += THREADS / LANES) {
    i32 h = first + thread() / LANES;
    bool has_head = h < of.heads;
    i32 used = has_head ? of.used : 0;
    const f32* partial = of.at + i64(has_head ? h : 0) * of.partitions * PARTIAL;
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
  for (i32 i = thread(); i < of.heads * VALUE; i += THREADS) {
    i32 h = i / VALUE;
    const f32* partial = of.at + i64(h) * of.partitions * PARTIAL + i % VALUE;
    f32 sum = 0;
#if defined(GPU_NVIDIA)
#pragma unroll 8
#endif
    for (i32 s = 0; s < of.used; s++) sum = fused_multiply_add(shared.weights[h][s], partial[s * PARTIAL], sum);
    write(i, sum / shared.divisors[h]);
  }
}

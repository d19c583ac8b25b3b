// Attention of single rows over a paged cache. A block computes up to HEADS query heads of one key head for one row and one
// share of the row's context; within it every few lanes walk over positions of their own with a running softmax (Milakov &
// Gimelshein 2018), and all of them are merged at the end.
//
//   KEY, VALUE   sizes of a head       GROUP   query heads of a key head
//   MERGE        0 one block has the whole context and writes `out`   1 partial results   2 the last block of a row merges them
//   FORM         what `out` is: 0 f32   1 quantized rows   2 half floats (1 and 2 only where blocks merge themselves)
#include "functions.h"
#include "halves.h"
#include "paged-cache.h"
#include "quantized.h"

constexpr i32 STREAM_LANES_WANTED = ((KEY > VALUE ? KEY : VALUE) + VECTOR - 1) / VECTOR;
constexpr i32 STREAM_LANES = STREAM_LANES_WANTED > 16  ? 32
                             : STREAM_LANES_WANTED > 8 ? 16
                             : STREAM_LANES_WANTED > 4 ? 8
                             : STREAM_LANES_WANTED > 2 ? 4
                                                       : 2;
constexpr i32 STEPS = (STREAM_LANES_WANTED + STREAM_LANES - 1) / STREAM_LANES;
constexpr i32 HEADS = GROUP < 4 ? GROUP : 4;
constexpr i32 HEAD_BLOCKS = (GROUP + HEADS - 1) / HEADS;
constexpr i32 THREADS = 128;
constexpr i32 STREAMS = THREADS / STREAM_LANES;
constexpr i32 UNROLLED = HEADS == 1 ? 4 : 2;
constexpr f32 LOWEST = -1e30f;

#define PARTIAL (VALUE + 2)

struct alignas(sizeof(CacheElement) * VECTOR) CacheVector {
  CacheElement at[VECTOR];
};

struct Stream {
  f32 largest[HEADS], total[HEADS], sums[HEADS][STEPS * VECTOR];
};

DEVICE void clear(Stream& stream) {
  UNROLL for (i32 h = 0; h < HEADS; h++) {
    stream.largest[h] = LOWEST;
    stream.total[h] = 0;
    UNROLL for (i32 i = 0; i < STEPS * VECTOR; i++) stream.sums[h][i] = 0;
  }
}

/// A lane's elements of a head of `size` elements, zeros beyond it.
template <i32 size>
DEVICE void load_head(const CacheElement* head, i32 lane_in_stream, f32* out) {
  UNROLL for (i32 step = 0; step < STEPS; step++) {
    i32 at = (step * STREAM_LANES + lane_in_stream) * VECTOR;
    CacheVector stored = {};
    if (at < size) stored = *reinterpret_cast<const CacheVector*>(head + at);
    UNROLL for (i32 i = 0; i < VECTOR; i++) out[step * VECTOR + i] = at < size ? from_cache(stored.at[i]) : 0.0f;
  }
}

DEVICE f32 capped(f32 score, f32 cap) { return cap > 0 ? cap * hyperbolic_tangent(score / cap) : score; }

DEVICE void add_position(Stream& stream, const f32 (*q)[STEPS * VECTOR], const f32* key, const f32* value, bool used, f32 cap) {
  UNROLL for (i32 h = 0; h < HEADS; h++) {
    f32 score = 0;
    UNROLL for (i32 i = 0; i < STEPS * VECTOR; i++) score = fused_multiply_add(q[h][i], key[i], score);
    UNROLL for (i32 step = STREAM_LANES / 2; step > 0; step >>= 1) score += shuffle_xor(score, step);
    if (!used) continue;
    score = capped(score, cap);
    f32 largest = max_of(stream.largest[h], score);
    f32 kept = exponential(stream.largest[h] - largest), weight = exponential(score - largest);
    stream.largest[h] = largest;
    stream.total[h] = fused_multiply_add(stream.total[h], kept, weight);
    UNROLL for (i32 i = 0; i < STEPS * VECTOR; i++) {
      stream.sums[h][i] = fused_multiply_add(weight, value[i], stream.sums[h][i] * kept);
    }
  }
}

struct Merged {
  f32 largest, total;
};

/// What results of several shares weigh together: `at(i)` gives the i-th share's largest score and total.
template <class At>
DEVICE Merged merge(i32 count, At at) {
  Merged merged = {LOWEST, 0};
  for (i32 i = 0; i < count; i++) merged.largest = max_of(merged.largest, at(i).largest);
  for (i32 i = 0; i < count; i++) merged.total += at(i).total * exponential(at(i).largest - merged.largest);
  return merged;
}

#if FORM == 1
DEVICE void write_result(void* out, i64 element, i64 elements, f32 value) {
  u8* bytes = static_cast<u8*>(out);
  quantize_warp(value, bytes, element >> 5, reinterpret_cast<GroupScale*>(bytes + elements));
}
#elif FORM == 2
DEVICE void write_result(void* out, i64 element, i64, f32 value) { store_half(static_cast<u16*>(out), element, value); }
#else
DEVICE void write_result(void* out, i64 element, i64, f32 value) { static_cast<f32*>(out)[element] = value; }
#endif

KERNEL(attention, 128, const i32* count, const f32* q, const i32* slots, const i32* positions, const i32* blocks,
       i32 blocks_per_slot, i32 block_size, const CacheElement* keys, const CacheElement* values, void* out, f32* partials,
       u32* arrivals, i32 capacity, i32 kv_heads, i32 splits, f32 scale, f32 cap, i32 window) {
  SHARED f32 shared_sums[STREAMS][HEADS][STEPS * STREAM_LANES * VECTOR];
  SHARED Merged shared_weights[STREAMS][HEADS];
  SHARED u32 arrived;
  release_successor();
  await_inputs();
  i32 row = block_x();
  if (row >= *count) return;
  i32 kv_head = block_y() / HEAD_BLOCKS, first_of_group = block_y() % HEAD_BLOCKS * HEADS, heads = kv_heads * GROUP;
  i32 head = kv_head * GROUP + first_of_group, used_heads = min_of(HEADS, GROUP - first_of_group);
  i32 stream_of = thread() / STREAM_LANES, lane_in_stream = thread() % STREAM_LANES;
  i32 slot = slots[row], position = positions[row];
  i32 first = window > 0 && position >= window ? position - window + 1 : 0;
  i32 share = (position + 1 - first + splits - 1) / splits;
  i32 begin = first + i32(block_z()) * share, end = min_of(begin + share, position + 1);

  f32 own[HEADS][STEPS * VECTOR];
  UNROLL for (i32 h = 0; h < HEADS; h++) {
    const f32* from = q + i64(row) * heads * KEY + i64(head + (h < used_heads ? h : 0)) * KEY;
    UNROLL for (i32 i = 0; i < STEPS * VECTOR; i++) {
      i32 at = (i / VECTOR * STREAM_LANES + lane_in_stream) * VECTOR + i % VECTOR;
      own[h][i] = at < KEY ? from[at] * scale : 0.0f;
    }
  }
  Stream stream;
  clear(stream);
  i64 key_stride = i64(kv_heads) * KEY, value_stride = i64(kv_heads) * VALUE;
  for (i32 at = begin; at < end; at += STREAMS * UNROLLED) {
    f32 key[UNROLLED][STEPS * VECTOR], value[UNROLLED][STEPS * VECTOR];
    UNROLL for (i32 u = 0; u < UNROLLED; u++) {
      i32 p = min_of(at + u * STREAMS + stream_of, end - 1);
      i64 cell = cell_of(blocks, blocks_per_slot, block_size, slot, p);
      load_head<KEY>(keys + cell * key_stride + kv_head * KEY, lane_in_stream, key[u]);
      load_head<VALUE>(values + cell * value_stride + kv_head * VALUE, lane_in_stream, value[u]);
    }
    UNROLL for (i32 u = 0; u < UNROLLED; u++) {
      add_position(stream, own, key[u], value[u], at + u * STREAMS + stream_of < end, cap);
    }
  }

  UNROLL for (i32 h = 0; h < HEADS; h++) {
    UNROLL for (i32 i = 0; i < STEPS * VECTOR; i++) {
      shared_sums[stream_of][h][(i / VECTOR * STREAM_LANES + lane_in_stream) * VECTOR + i % VECTOR] = stream.sums[h][i];
    }
    if (lane_in_stream == 0) shared_weights[stream_of][h] = {stream.largest[h], stream.total[h]};
  }
  barrier();
  i64 results = i64(capacity) * heads * VALUE;
  for (i32 i = thread(); i < used_heads * VALUE; i += THREADS) {
    i32 h = i / VALUE, element = i % VALUE;
    Merged merged = merge(STREAMS, [&](i32 s) { return shared_weights[s][h]; });
    f32 sum = 0;
    UNROLL for (i32 s = 0; s < STREAMS; s++) {
      sum = fused_multiply_add(exponential(shared_weights[s][h].largest - merged.largest), shared_sums[s][h][element], sum);
    }
#if MERGE == 0
    write_result(out, (i64(row) * heads + head + h) * VALUE + element, results, sum / merged.total);
#else
    f32* partial = partials + ((i64(row) * heads + head + h) * splits + block_z()) * PARTIAL;
    partial[element] = sum;
    if (element == 0) partial[VALUE] = merged.largest, partial[VALUE + 1] = merged.total;
#endif
  }
#if MERGE == 2
  fence_device();
  barrier();
  if (thread() == 0) arrived = atomic_add(arrivals + i64(row) * kv_heads * HEAD_BLOCKS + block_y(), 1u);
  barrier();
  if (arrived != u32(splits - 1)) return;
  fence_device();
  for (i32 i = thread(); i < used_heads * VALUE; i += THREADS) {
    const f32* partial = partials + (i64(row) * heads + head + i / VALUE) * splits * PARTIAL;
    Merged merged = merge(splits, [&](i32 s) { return Merged{partial[s * PARTIAL + VALUE], partial[s * PARTIAL + VALUE + 1]}; });
    f32 sum = 0;
    for (i32 s = 0; s < splits; s++) {
      f32 weight = exponential(partial[s * PARTIAL + VALUE] - merged.largest);
      sum = fused_multiply_add(weight, partial[s * PARTIAL + i % VALUE], sum);
    }
    write_result(out, (i64(row) * heads + head) * VALUE + i, results, sum / merged.total);
  }
#endif
}

#if MERGE == 1
/// Merges the shares of a row's heads: a block a row and head.
KERNEL(merge_attention, 128, const i32* count, const f32* partials, f32* out, i32 heads, i32 splits) {
  await_inputs();
  i32 row = block_x();
  if (row >= *count) return;
  i64 head = i64(row) * heads + block_y();
  const f32* partial = partials + head * splits * PARTIAL;
  Merged merged = merge(splits, [&](i32 s) { return Merged{partial[s * PARTIAL + VALUE], partial[s * PARTIAL + VALUE + 1]}; });
  for (i32 i = thread(); i < VALUE; i += 128) {
    f32 sum = 0;
    for (i32 s = 0; s < splits; s++) {
      f32 weight = exponential(partial[s * PARTIAL + VALUE] - merged.largest);
      sum = fused_multiply_add(weight, partial[s * PARTIAL + i], sum);
    }
    out[head * VALUE + i] = sum / merged.total;
  }
}
#endif

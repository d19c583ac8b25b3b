// Attention of single rows over a paged cache. A block computes up to HEADS query heads of one key head for one row and one
// partition of the row's context; within it every few lanes walk over positions of their own with an online softmax (Milakov &
// Gimelshein 2018), and all of them are merged at the end.
//
//   KEY, VALUE   sizes of a head       GROUP   query heads of a key head
//   MERGE        0 one block has the whole context and writes `out`   1 partial results   2 the last block of a row merges them
//   OUT_TYPE     what `out` is: 0 f32   1 quantized rows   2 f16 (1 and 2 only where blocks merge themselves)
//   LATENT       1 where a position's values are the first elements of its keys      ALIBI   1 where distances are biased
//   PLACES       of a row in the block table, each for as many key heads      THREADS   of a block      SINGLE_ROW   1 where the row is its step's only one: all earlier positions are cached before
#include "attention-merge.h"
#include "head-parts.h"

constexpr i32 HEADS = GROUP < 4 ? GROUP : 4;
constexpr i32 HEAD_BLOCKS = (GROUP + HEADS - 1) / HEADS;
constexpr i32 STREAMS = THREADS / STREAM_LANES;
constexpr i32 UNROLLED = HEADS == 1 ? 4 : OWN > 16 ? 1 : 2;
/// Where the last block merges, a partition of the context is at least this long: merging costs as much as so many positions.
constexpr i32 MIN_PARTITION_SIZE = MERGE == 2 ? 128 : 1;

struct Stream {
  f32 largest[HEADS], total[HEADS], sums[HEADS][OWN];
};

DEVICE void clear(Stream& stream) {
  UNROLL for (i32 h = 0; h < HEADS; h++) {
    stream.largest[h] = LOWEST;
    stream.total[h] = 0;
    UNROLL for (i32 i = 0; i < OWN; i++) stream.sums[h][i] = 0;
  }
}

/// Keys and values of the positions that a lane's stream takes at once.
struct Positions {
  Part keys[UNROLLED];
#if LATENT
  // What is added beyond VALUE elements nobody looks at.
  DEVICE_MEMBER const Part& value(i32 u) const { return keys[u]; }
#else
  Part values[UNROLLED];
  DEVICE_MEMBER const Part& value(i32 u) const { return values[u]; }
#endif
};

/// Adds those of the positions that are `used`; the first is `distance` ahead of where ALiBi counts from, the next STREAMS further.
DEVICE void add_positions(Stream& stream, const Query* q, const Positions& at, const bool* used, const f32* slopes, i32 distance,
                          const Scores& of) {
  UNROLL for (i32 h = 0; h < HEADS; h++) {
    f32 scores[UNROLLED], largest = stream.largest[h];
    UNROLL for (i32 u = 0; u < UNROLLED; u++) {
      f32 score = product(q[h], at.keys[u]);
      UNROLL for (i32 step = STREAM_LANES / 2; step > 0; step >>= 1) score += shuffle_xor(score, step);
      scores[u] = used[u] ? biased(capped(score, of), slopes[h], distance + u * STREAMS) : LOWEST;
      largest = max_of(largest, scores[u]);
    }
    f32 rescale = softmax_weight(stream.largest[h] - largest);
    stream.largest[h] = largest;
    stream.total[h] *= rescale;
    UNROLL for (i32 i = 0; i < OWN; i++) stream.sums[h][i] *= rescale;
    UNROLL for (i32 u = 0; u < UNROLLED; u++) {
      f32 weight = used[u] ? softmax_weight(scores[u] - largest) : 0.0f;
      stream.total[h] += weight;
      add_weighted(stream.sums[h], weight, at.value(u));
    }
  }
}

/// What a lane needs to load positions of a row's context.
struct Context {
  const i32* blocks;
  i32 blocks_per_slot, block_size, slot;
  const CacheElement *keys, *values;
  i64 key_stride, value_stride;
  i32 first_key, first_value;
  ScalePlane key_scales, value_scales;

  DEVICE_MEMBER void load(Positions& to, i32 u, i32 position, i32 lane_in_stream) const {
    i64 cell = cell_of(blocks, blocks_per_slot, block_size, slot, position);
    load_part<KEY, KEYS_AS>(keys, key_scales, cell * key_stride + first_key, lane_in_stream, to.keys[u]);
#if !LATENT
    load_part<VALUE, VALUES_AS>(values, value_scales, cell * value_stride + first_value, lane_in_stream, to.values[u]);
#endif
  }
};

#ifdef REACH
/// Rows see as many positions on either side of their own.
#define OWN_POSITIONS const i32* own_positions,
#else
#define OWN_POSITIONS
#endif

KERNEL(attention, THREADS, const i32* count, const f32* q, const i32* slots, const i32* positions, const i32* blocks,
       i32 blocks_per_slot, i32 block_size, i32 cells, const CacheElement* keys, const CacheElement* values, void* out, f32* partials,
       u32* arrivals, i32 capacity, i32 kv_heads, i32 partitions, OWN_POSITIONS SCORE_PARAMETERS) {
  const Scores of = SCORES;
  typedef RowParts<STREAMS, HEADS> Parts;
  SHARED Parts parts;
  SHARED f32 sums[STREAMS][HEADS][STEPS * STREAM_LANES * VECTOR];
  grid_launch_dependents();
#if !SINGLE_ROW
  grid_dependency_wait();
#endif
  i32 row = block_x();
  if (row >= *count) {
    grid_dependency_wait();
    return;
  }
  i32 kv_head = block_y() / HEAD_BLOCKS, first_of_group = block_y() % HEAD_BLOCKS * HEADS, heads = kv_heads * GROUP;
  i32 head = kv_head * GROUP + first_of_group, used_heads = min_of(HEADS, GROUP - first_of_group);
  i32 stream_of = thread() / STREAM_LANES, lane_in_stream = thread() % STREAM_LANES;
  // Groups of key heads may have positions of their own.
  i32 place = PLACES == 1 ? row : row * PLACES + kv_head * PLACES / kv_heads;
#ifdef REACH
  i32 position = min_of(positions[row], own_positions[row] + REACH);
  i32 first = max_of(own_positions[row] - REACH, 0), length = position + 1 - first, origin = own_positions[row];
#else
  i32 position = positions[place];
  i32 first = first_visible(position, of), length = position + 1 - first, origin = position;
#endif
  i32 partition_size = max_of((length + partitions - 1) / partitions, MIN_PARTITION_SIZE);
  i32 used_partitions = (length + partition_size - 1) / partition_size;
  i32 begin = first + i32(block_z()) * partition_size, end = min_of(begin + partition_size, position + 1);
  if (MERGE == 2 && begin >= end) {
    grid_dependency_wait();
    return;
  }
  i64 key_stride = i64(kv_heads) * KEY, value_stride = i64(kv_heads) * VALUE;
  Context context = {blocks, blocks_per_slot, block_size, slots[place], keys, values, key_stride, value_stride,
                     kv_head * KEY, kv_head * VALUE, scale_plane(keys, cells, i32(key_stride)),
                     scale_plane(values, cells, i32(value_stride))};
  Positions at;
#if SINGLE_ROW
  // Only the row's own position is not in the cache yet.
  UNROLL for (i32 u = 0; u < UNROLLED; u++) {
    i32 p = min_of(begin + u * STREAMS + stream_of, end - 1);
    context.load(at, u, p < position ? p : first, lane_in_stream);
  }
  grid_dependency_wait();
  UNROLL for (i32 u = 0; u < UNROLLED; u++) {
    if (min_of(begin + u * STREAMS + stream_of, end - 1) == position) context.load(at, u, position, lane_in_stream);
  }
#endif
  Query own[HEADS];
  f32 scale_of_row = scale_at(position, of);
  UNROLL for (i32 h = 0; h < HEADS; h++) {
    const f32* from = q + i64(row) * heads * KEY + i64(head + (h < used_heads ? h : 0)) * KEY;
    f32 elements[OWN];
    UNROLL for (i32 i = 0; i < OWN; i++) {
      i32 element = element_of(i / VECTOR, lane_in_stream) + i % VECTOR;
      elements[i] = element < KEY ? from[element] * scale_of_row : 0.0f;
    }
    set_query(own[h], elements);
  }
  f32 slopes[HEADS];
  UNROLL for (i32 h = 0; h < HEADS; h++) slopes[h] = alibi_slope(head + h, of);
  Stream stream;
  clear(stream);
  for (i32 start = begin; start < end; start += STREAMS * UNROLLED) {
    bool used[UNROLLED];
    UNROLL for (i32 u = 0; u < UNROLLED; u++) {
      i32 p = start + u * STREAMS + stream_of;
      used[u] = p < end;
      if (!SINGLE_ROW || start > begin) context.load(at, u, min_of(p, end - 1), lane_in_stream);
    }
    add_positions(stream, own, at, used, slopes, start + stream_of - origin, of);
  }

  UNROLL for (i32 h = 0; h < HEADS; h++) {
    UNROLL for (i32 i = 0; i < OWN; i++) {
      sums[stream_of][h][element_of(i / VECTOR, lane_in_stream) + i % VECTOR] = stream.sums[h][i];
    }
    if (lane_in_stream == 0) parts.weights[stream_of][h] = {stream.largest[h], stream.total[h]};
  }
  finish_row(parts, sums, {out, partials, arrivals + i64(row) * kv_heads * HEAD_BLOCKS + block_y(), capacity, row, heads, head, used_heads,
                           partitions, used_partitions}, of);
}

// What a lane holds of a head in attention over single rows: VECTOR neighbouring elements a step, the lanes of a stream side by
// side. In a cache of blocks they are of one block, and stay as they are stored until they are added up.
#pragma once
#include "paged-cache.h"

constexpr i32 STREAM_LANES_WANTED = ((KEY > VALUE ? KEY : VALUE) + VECTOR - 1) / VECTOR;
constexpr i32 STREAM_LANES = STREAM_LANES_WANTED > 16  ? 32
                             : STREAM_LANES_WANTED > 8 ? 16
                             : STREAM_LANES_WANTED > 4 ? 8
                             : STREAM_LANES_WANTED > 2 ? 4
                                                       : 2;
constexpr i32 STEPS = (STREAM_LANES_WANTED + STREAM_LANES - 1) / STREAM_LANES;
constexpr i32 OWN = STEPS * VECTOR;

/// The index in the head of a lane's elements of a step.
DEVICE i32 element_of(i32 step, i32 lane_in_stream) { return (step * STREAM_LANES + lane_in_stream) * VECTOR; }

#if CACHE == 2
constexpr i32 WORDS = VECTOR / 4;

struct Part {
  u32 quants[STEPS][WORDS];
  f32 scales[STEPS];
};

/// A query in integers of 16 bits, as two of 8: products with quants are exact, and nothing is lost beside f32's roundings.
struct Query {
  u32 high[STEPS][WORDS], low[STEPS][WORDS];
  f32 scales[STEPS];
};

/// A lane's elements of a head of `size` elements from element `first` of the cache on, zeros beyond it.
template <i32 size, i32>
DEVICE void load_part(const CacheElement* cache, ScalePlane scales, i64 first, i32 lane_in_stream, Part& out) {
  const CacheElement* head = cache + first;
  scales += first / 32;
  struct alignas(VECTOR) Words {
    u32 at[WORDS];
  };
  UNROLL for (i32 step = 0; step < STEPS; step++) {
    i32 at = element_of(step, lane_in_stream);
    Words stored = {};
    if (at < size) stored = *reinterpret_cast<const Words*>(head + at);
    UNROLL for (i32 i = 0; i < WORDS; i++) out.quants[step][i] = stored.at[i];
    out.scales[step] = at < size ? half_to_float(scales[at / 32]) : 0.0f;
  }
}

DEVICE void set_query(Query& query, const f32* elements) {
  constexpr f32 MAX_LEVEL = 32512.0f;
  UNROLL for (i32 step = 0; step < STEPS; step++) {
    f32 largest = 0;
    UNROLL for (i32 i = 0; i < VECTOR; i++) {
      f32 element = elements[step * VECTOR + i];
      largest = max_of(largest, element < 0 ? -element : element);
    }
    query.scales[step] = largest / MAX_LEVEL;
    f32 inverse = largest > 0 ? MAX_LEVEL / largest : 0.0f;
    UNROLL for (i32 word = 0; word < WORDS; word++) {
      u32 high = 0, low = 0;
      UNROLL for (i32 i = 0; i < 4; i++) {
        i32 level = i32(round_even(elements[step * VECTOR + 4 * word + i] * inverse)), upper = (level + 128) >> 8;
        high |= (u32(upper) & 255) << (8 * i);
        low |= (u32(level - 256 * upper) & 255) << (8 * i);
      }
      query.high[step][word] = high;
      query.low[step][word] = low;
    }
  }
}

/// A lane's part of the dot product of a query and a key.
DEVICE f32 product(const Query& query, const Part& key) {
  f32 sum = 0;
  UNROLL for (i32 step = 0; step < STEPS; step++) {
    i32 high = 0, low = 0;
    UNROLL for (i32 word = 0; word < WORDS; word++) {
      high = dot4(query.high[step][word], key.quants[step][word], high);
      low = dot4(query.low[step][word], key.quants[step][word], low);
    }
    sum = fused_multiply_add(query.scales[step] * key.scales[step], f32(256 * high + low), sum);
  }
  return sum;
}

/// Adds a weighted value to a lane's sums.
DEVICE void add_weighted(f32* sums, f32 weight, const Part& value) {
  UNROLL for (i32 step = 0; step < STEPS; step++) {
    f32 factor = weight * value.scales[step];
    UNROLL for (i32 i = 0; i < VECTOR; i++) {
      f32 quant = f32(i8(value.quants[step][i / 4] >> (8 * (i % 4))));
      sums[step * VECTOR + i] = fused_multiply_add(factor, quant, sums[step * VECTOR + i]);
    }
  }
}
#else
struct Part {
  f32 at[OWN];
};
struct Query {
  f32 at[OWN];
};

#if CACHE == 3
/// A lane's elements of a head of `size` elements from element `first` of the cache on, zeros beyond it.
template <i32 size, i32 TYPE>
DEVICE void load_part(const CacheElement* cache, ScalePlane blocks, i64 first, i32 lane_in_stream, Part& out) {
  static_assert(VECTOR == 8);
  UNROLL for (i32 step = 0; step < STEPS; step++) {
    i32 at = element_of(step, lane_in_stream);
    f32* to = out.at + step * VECTOR;
    UNROLL for (i32 i = 0; i < VECTOR; i++) to[i] = 0.0f;
    if (at < size) load_eight<TYPE>(cache, blocks, first + at, to);
  }
}
#else
template <i32 size, i32>
DEVICE void load_part(const CacheElement* cache, ScalePlane, i64 first, i32 lane_in_stream, Part& out) {
  const CacheElement* head = cache + first;
  struct alignas(sizeof(CacheElement) * VECTOR) CacheVector {
    CacheElement at[VECTOR];
  };
  UNROLL for (i32 step = 0; step < STEPS; step++) {
    i32 at = element_of(step, lane_in_stream);
    CacheVector stored = {};
    if (at < size) stored = *reinterpret_cast<const CacheVector*>(head + at);
    UNROLL for (i32 i = 0; i < VECTOR; i++) out.at[step * VECTOR + i] = at < size ? from_cache(stored.at[i]) : 0.0f;
  }
}
#endif

DEVICE void set_query(Query& query, const f32* elements) {
  UNROLL for (i32 i = 0; i < OWN; i++) query.at[i] = elements[i];
}

DEVICE f32 product(const Query& query, const Part& key) {
  f32 sum = 0;
  UNROLL for (i32 i = 0; i < OWN; i++) sum = fused_multiply_add(query.at[i], key.at[i], sum);
  return sum;
}

DEVICE void add_weighted(f32* sums, f32 weight, const Part& value) {
  UNROLL for (i32 i = 0; i < OWN; i++) sums[i] = fused_multiply_add(weight, value.at[i], sums[i]);
}
#endif

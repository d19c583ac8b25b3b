/**
 * Attention of a group of one token's query heads that share a key head: `attention.ts` of the WebAssembly kernels, with the same
 * chunks and the same order of additions. A chunk's keys stand interleaved: four elements of a position a lane.
 */
#include "elementary.h"

constexpr u32 CHUNK = 32;
constexpr float INFINITE = __builtin_inff();

enum Types { F32, F16, Q8_0, Q4_0, Q5_1 };

/** What `writeAttentionParameters` of `../../kernel-exports.ts` writes. */
struct Parameters {
  u32 blockSize, group, keySize, valueSize, keyCellBytes, valueCellBytes, keyScaleBytes, valueScaleBytes;
  unsigned short keyType, valueType;
  float scale, softCap;
  u32 window, chunk;
  /** An address of WebAssembly's. */
  u32 sinks;
  u32 temperatureScale, temperatureLength, temperatureOffset;
  float alibiBias;
  u32 alibiHeads;
};

/** Keys or values of a cache, at one key head. */
struct Plane {
  const u8* cells;
  const u8* scales;
  u32 cellBytes, scaleBytes, size, type;
};

/** The chunk's cells; those behind its end are the first one's. */
struct Cells {
  u32 index[CHUNK];

  __attribute__((always_inline)) Cells(const u32* blocks, u32 blockSize, u32 first, u32 count) {
    for (u32 i = 0; i < CHUNK; i++) {
      const u32 position = first + (i < count ? i : 0);
      index[i] = blocks[position / blockSize] * blockSize + position % blockSize;
    }
  }
};

/** The 32 values of a block of a cache. */
INLINE void decodeBlock(u32 type, const u8* quants, const u8* scales, float (&out)[32]) {
  const float scale = halfToFloat(scales);
  if (type == Q8_0) {
    for (u32 i = 0; i < 32; i += WIDTH) {
      *(Wide*)(out + i) = __builtin_convertvector(*(const WideBytes*)(quants + i), Wide) * scale;
    }
    return;
  }
  const float offset = type == Q5_1 ? halfToFloat(scales + 2) : 0.0f;
  const u32 fifths = type == Q5_1 ? *(const u32*)(scales + 4) : 0;
  const i32 less = type == Q4_0 ? 8 : 0;
  for (u32 i = 0; i < 32; i++) {
    const i32 level = ((quants[i >> 1] >> (4 * (i & 1))) & 15) | (((fifths >> i) & 1) << 4);
    out[i] = (float)(level - less) * scale + offset;
  }
}

INLINE u32 quantBytes(u32 type) { return type == Q8_0 ? 32 : 16; }
INLINE u32 blockScaleBytes(u32 type) { return type == Q5_1 ? 8 : 2; }

/** Element d / 4 of strip s is the vector `keys[s * size / 4 + d / 4]`: elements d .. d + 3 of its positions. */
INLINE void gatherKeys(const Plane& of, const Cells& cells, u32 count, u8* keys) {
  const u32 steps = of.size / 4;
  for (u32 s = 0; s * LANES < count; s++) {
    u8* out = keys + (u64)16 * LANES * steps * s;
    const u8* places[LANES];
    for (int l = 0; l < LANES; l++) places[l] = of.cells + (u64)cells.index[s * LANES + l] * of.cellBytes;
    if (of.type <= F16) {
      for (u32 d = 0; d < steps; d++) {
        storeFloats(out + 16 * LANES * d, of.type == F16 ? loadLaneHalves(places) : loadLaneFloats(places));
        for (int l = 0; l < LANES; l++) places[l] += of.type == F16 ? 8 : 16;
      }
      continue;
    }
    for (int l = 0; l < LANES; l++) {
      const u8* scales = of.scales + (u64)cells.index[s * LANES + l] * of.scaleBytes;
      for (u32 b = 0; b < of.size / 32; b++) {
        float block[32];
        decodeBlock(of.type, places[l] + b * quantBytes(of.type), scales + b * blockScaleBytes(of.type), block);
        for (u32 d = 0; d < 8; d++) *(Four*)(out + 16 * LANES * (8 * b + d) + 16 * l) = *(const Four*)(block + 4 * d);
      }
    }
  }
}

/** The values of the chunk's positions, one after another; or where they are f32 already, where they lie. */
INLINE void gatherValues(const Plane& of, const Cells& cells, u32 count, u8* buffer, const u8* (&rows)[CHUNK]) {
  for (u32 i = 0; i < count; i++) {
    const u8* cell = of.cells + (u64)cells.index[i] * of.cellBytes;
    u8* out = buffer + (u64)4 * of.size * i;
    rows[i] = of.type == F32 ? cell : out;
    if (of.type == F16) {
      u32 d = 0;
      for (; d + WIDTH <= of.size; d += WIDTH) storeFloats(out + 4 * d, loadHalves(cell + 2 * d));
      for (; d < of.size; d++) *(float*)(out + 4 * d) = halfToFloat(cell + 2 * d);
    } else if (of.type > F16) {
      const u8* scales = of.scales + (u64)cells.index[i] * of.scaleBytes;
      for (u32 b = 0; b < (of.size + 31) / 32; b++) {
        decodeBlock(
            of.type, cell + b * quantBytes(of.type), scales + b * blockScaleBytes(of.type), *(float(*)[32])(out + 128 * b));
      }
    }
  }
}

/** What a position adds to a head's scores (ALiBi). */
INLINE float alibiSlope(const Parameters& p, u32 head) {
  if (p.alibiBias == 0) return 0;
  const float step = head < p.alibiHeads ? (float)(head + 1) : (float)(head - p.alibiHeads) + 0.5f;
  const float exponent = (-p.alibiBias * step) / (float)p.alibiHeads;
  return exponentialOf(exponent * 0.6931471805599453f);
}

/** The products of a query with the keys of the chunk. */
INLINE void scoreKeys(const u8* q, const u8* keys, u32 size, u32 count, float (&scores)[CHUNK]) {
  const u32 steps = size / 4;
  alignas(64) float lanes[CHUNK][4];
  // Several strips at a time, so that additions do not wait for each other.
  constexpr u32 TOGETHER = 4;
  for (u32 s = 0; s * LANES < count; s += TOGETHER) {
    const u8* strips[TOGETHER];
    Floats sums[TOGETHER];
    for (u32 j = 0; j < TOGETHER; j++) {
      strips[j] = keys + (u64)16 * LANES * steps * ((s + j) * LANES < count ? s + j : s);
      sums[j] = noFloats();
    }
    for (u32 d = 0; d < steps; d++) {
      const Floats x = splatFour(q + 16 * d);
      for (u32 j = 0; j < TOGETHER; j++) sums[j] = add(sums[j], mul(x, loadFloats(strips[j] + 16 * LANES * d)));
    }
    for (u32 j = 0; j < TOGETHER; j++) storeFloats((u8*)lanes[(s + j) * LANES], sums[j]);
  }
  for (u32 i = 0; i < count; i++) scores[i] = (lanes[i][0] + lanes[i][2]) + (lanes[i][1] + lanes[i][3]);
}

/** The larger number; NaN if either is. */
INLINE float larger(float a, float b) { return a != a || a > b ? a : b; }

/** The larger numbers; NaN where either is. */
template <class Vector>
INLINE Vector largerOnes(Vector a, Vector b) {
  const Vector kept = a > b ? a : b;
  return a == a ? kept : a;
}

/** The scores of one head as they enter the softmax, and the highest. */
INLINE float finishScores(const Parameters& p, float slope, u32 ahead, u32 count, float (&scores)[CHUNK]) {
  Wide highest = splat<Wide>(-INFINITE);
  for (u32 i = 0; i < CHUNK; i += WIDTH) {
    Wide s = *(const Wide*)(scores + i) * p.scale;
    if (p.softCap != 0) s = p.softCap * hyperbolicTangent(s / p.softCap);
    WideInts place;
    for (u32 l = 0; l < WIDTH; l++) place[l] = (i32)(i + l);
    if (slope != 0) {
      const WideInts distance = place - (i32)ahead;
      s = s - slope * __builtin_convertvector(distance < 0 ? -distance : distance, Wide);
    }
    s = place < (i32)count ? s : splat<Wide>(-INFINITE);
    *(Wide*)(scores + i) = s;
    highest = largerOnes(highest, s);
  }
  const float* lanes = (const float*)&highest;
  Four four = *(const Four*)lanes;
  for (u32 l = 4; l < WIDTH; l += 4) four = largerOnes(four, *(const Four*)(lanes + l));
  return larger(larger(four[0], four[2]), larger(four[1], four[3]));
}

/** Query heads that a call takes at most, as `headsTogether` says. */
constexpr u32 MAX_GROUP = 8;
/** The same, in whole vectors. */
constexpr u32 HEADS = MAX_GROUP > WIDTH ? MAX_GROUP : WIDTH;

/** Of each head: the highest score so far, the sum of weights, and what earlier weights shrink by. */
struct Softmax {
  float high[HEADS], sum[HEADS], rescale[HEADS];

  /** Takes the highest scores of a chunk into account. */
  __attribute__((always_inline)) void raise(const float (&chunkHigh)[HEADS]) {
    for (u32 h = 0; h < HEADS; h += WIDTH) {
      const Wide before = *(const Wide*)(high + h);
      const Wide after = largerOnes(before, *(const Wide*)(chunkHigh + h));
      *(Wide*)(rescale + h) = exponential(before - after);
      *(Wide*)(high + h) = after;
    }
  }
};

/** The scores of a head become weights. */
INLINE void softmaxChunk(Softmax& of, u32 h, bool isHalf, float (&weights)[CHUNK]) {
  const float high = of.high[h];
  for (u32 i = 0; i < CHUNK; i += WIDTH) {
    *(Wide*)(weights + i) = exponential(*(const Wide*)(weights + i) - high);
  }
  Four total = {};
  for (u32 i = 0; i < CHUNK; i += 4) total += *(const Four*)(weights + i);
  if (isHalf) {
    for (u32 i = 0; i < CHUNK; i += WIDTH) {
      storeFloats((u8*)(weights + i), roundToHalves(loadFloats((const u8*)(weights + i))));
    }
  }
  of.sum[h] = of.sum[h] * of.rescale[h] + ((total[0] + total[2]) + (total[1] + total[3]));
}

/** `out = out * rescale + sum of weight * value`. */
INLINE void addValues(
    u8* out, const u8* const (&rows)[CHUNK], const float (&weights)[CHUNK], u32 count, u32 size, const float& rescale) {
  const Floats keep = splatFloat((const u8*)&rescale);
  constexpr u32 TOGETHER = 4;
  u32 d = 0;
  for (; d + TOGETHER * WIDTH <= size; d += TOGETHER * WIDTH) {
    Floats a[TOGETHER];
    for (u32 j = 0; j < TOGETHER; j++) a[j] = mul(loadFloats(out + 4 * (d + WIDTH * j)), keep);
    for (u32 i = 0; i < count; i++) {
      const Floats w = splatFloat((const u8*)&weights[i]);
      for (u32 j = 0; j < TOGETHER; j++) a[j] = add(a[j], mul(w, loadFloats(rows[i] + 4 * (d + WIDTH * j))));
    }
    for (u32 j = 0; j < TOGETHER; j++) storeFloats(out + 4 * (d + WIDTH * j), a[j]);
  }
  for (; d < size; d += WIDTH) {
    const u32 some = size - d < WIDTH ? size - d : WIDTH;
    Floats a = mul(loadSomeFloats(out + 4 * d, some), keep);
    for (u32 i = 0; i < count; i++) {
      a = add(a, mul(splatFloat((const u8*)&weights[i]), loadSomeFloats(rows[i] + 4 * d, some)));
    }
    storeSomeFloats(out + 4 * d, a, some);
  }
}

/** The `attention` of `../../kernel-exports.ts`, behind the address of WebAssembly's 0. */
KERNEL void attention(
    u8* base, u32 qAt, u32 keys, u32 values, u32 outAt, u32 blocks, u32 parameters, u32 begin, u32 end, u32 scratchAt,
    u32 keyScales, u32 valueScales, u32 index, u32 own) {
  const Parameters& p = *(const Parameters*)(base + parameters);
  const u8* q = base + qAt;
  u8* out = base + outAt;
  u8* scratch = base + scratchAt;
  const Plane key = {base + keys, base + keyScales, p.keyCellBytes, p.keyScaleBytes, p.keySize, p.keyType};
  const Plane value = {base + values, base + valueScales, p.valueCellBytes, p.valueScaleBytes, p.valueSize, p.valueType};
  // Values that are the first elements of their keys.
  const Plane shared = {base + keys, base + keyScales, p.keyCellBytes, p.keyScaleBytes, p.valueSize, p.keyType};
  Softmax state = {};
  alignas(64) float weights[MAX_GROUP][CHUNK];
  for (u32 h = 0; h < p.group; h++) {
    for (u32 d = 0; d < p.valueSize; d += 4) *(Four*)(out + 4 * (u64)(h * p.valueSize + d)) = Four{};
    const bool sunk = p.sinks != 0;
    state.high[h] = sunk ? *(const float*)(base + p.sinks + 4 * (u64)(index * p.group + h)) : -INFINITE;
    state.sum[h] = sunk ? 1.0f : 0.0f;
  }
  for (u32 first = begin; first < end; first += CHUNK) {
    const u32 count = end - first < CHUNK ? end - first : CHUNK;
    const Cells cells((const u32*)(base + blocks), p.blockSize, first, count);
    gatherKeys(key, cells, count, scratch);
    float highest[HEADS] = {};
    for (u32 h = 0; h < p.group; h++) {
      scoreKeys(q + 4 * (u64)(h * p.keySize), scratch, p.keySize, count, weights[h]);
      const float slope = alibiSlope(p, index * p.group + h);
      highest[h] = finishScores(p, slope, own - first, count, weights[h]);
    }
    state.raise(highest);
    for (u32 h = 0; h < p.group; h++) softmaxChunk(state, h, p.valueType == F16, weights[h]);
    const u8* rows[CHUNK];
    gatherValues(p.valueCellBytes != 0 ? value : shared, cells, count, scratch, rows);
    for (u32 h = 0; h < p.group; h++) {
      addValues(out + 4 * (u64)(h * p.valueSize), rows, weights[h], count, p.valueSize, state.rescale[h]);
    }
  }
  for (u32 h = 0; h < p.group; h++) {
    const float factor = 1.0f / state.sum[h];
    for (u32 d = 0; d < p.valueSize; d++) *(float*)(out + 4 * (u64)(h * p.valueSize + d)) *= factor;
  }
}

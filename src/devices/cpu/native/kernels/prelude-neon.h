/**
 * NEON with products of four bytes: ARMv8.2 (Apple's processors, Graviton 2, Cortex-A55 and A76 and all since); where it is compiled for
 * them, with products of pairs of rows of eight bytes: ARMv8.6 (Graviton 3, Neoverse N2 and V1, Apple's M2 and all since).
 */
#pragma once
#include <arm_neon.h>

constexpr int LANES = 1;
/** Strips of rows that products of many rows of activations compute together: as many as the registers hold. */
constexpr unsigned STRIPS_TOGETHER = 2;

using Bytes = uint8x16_t;
using Ints = int32x4_t;
using Floats = float32x4_t;

INLINE Bytes loadBytes(const u8* at) { return vld1q_u8(at); }
/** A vector with one lane of each of several places. */
INLINE Bytes loadLanes(const u8* const (&at)[LANES]) { return vld1q_u8(at[0]); }
/** As many neighbouring lanes, over and over: one. */
template <int COUNT>
INLINE Bytes repeatLanes(const u8* at) {
  return vld1q_u8(at);
}
INLINE Bytes splatBytes(const u8* lane) { return vld1q_u8(lane); }
/** Four bytes, everywhere. */
INLINE Bytes splatWord(const u8* at) { return vreinterpretq_u8_u32(vld1q_dup_u32((const u32*)at)); }
/** Lane l of the result repeats word `words(l)` of the 32 bytes at `at`. */
template <class Words>
INLINE Bytes spread(const u8* at, Words words) {
  return splatWord(at + 4 * words(0));
}

INLINE Bytes lowNibbles(Bytes v) { return vandq_u8(v, vdupq_n_u8(15)); }
INLINE Bytes highNibbles(Bytes v) { return vshrq_n_u8(v, 4); }
INLINE Bytes lookUp(Bytes table, Bytes codes) { return vqtbl1q_u8(table, codes); }
/** `low` below `high`, both nibbles. */
INLINE Bytes joinNibbles(Bytes high, Bytes low) { return vorrq_u8(vshlq_n_u8(high, 4), low); }
/** The bytes of lane l shifted right by `shifts(l)` bits. */
template <class Shifts>
INLINE Bytes shiftLanes(Bytes v, Shifts shifts) {
  return vshlq_u8(v, vdupq_n_s8((signed char)-shifts(0)));
}
/** Puts the lowest `BITS` bits of each byte above one nibble, and those four bits on above another. */
template <int BITS>
INLINE void addUpperBits(Bytes upper, Bytes& low, Bytes& high) {
  const Bytes both = vdupq_n_u8(BITS == 1 ? 16 : 48);
  low = vorrq_u8(low, vandq_u8(vshlq_n_u8(upper, 4), both));
  high = vorrq_u8(high, vandq_u8(upper, both));
}
INLINE Bytes flipSigns(Bytes v) { return veorq_u8(v, vdupq_n_u8(128)); }
/** Bytes of each lane in this order. */
INLINE Bytes shuffleLanes(Bytes v, const u8* order) { return vqtbl1q_u8(v, vld1q_u8(order)); }

INLINE Ints splatInts(i32 value) { return vdupq_n_s32(value); }
INLINE Ints addInts(Ints a, Ints b) { return vaddq_s32(a, b); }
INLINE Ints mulInts(Ints a, Ints b) { return vmulq_s32(a, b); }

/** Two numbers of 16 bits for each 32-bit lane. */
struct Pairs {
  Ints first;
  Ints second;
};
INLINE Pairs pairsOf(Ints first, Ints second) { return {first, second}; }
/** Adds the products of pairs with the pair at `x`. */
INLINE Ints addPaired(Ints sum, const Pairs& pairs, const u8* x) {
  const short* two = (const short*)x;
  return vmlaq_n_s32(vmlaq_n_s32(sum, pairs.first, two[0]), pairs.second, two[1]);
}

/** Eight-bit weights are multiplied signed. */
constexpr bool EIGHT_BITS_LIFTED = false;

/** Sums of products of weights of `BITS` bits, none of which needs more than a signed byte, with signed activations, four columns a row. */
template <int BITS>
struct Dot {
  using Partial = Ints;
  INLINE Partial none() { return vdupq_n_s32(0); }
  INLINE Partial add(Partial sum, Bytes weights, Bytes x) {
    return vdotq_s32(sum, vreinterpretq_s8_u8(weights), vreinterpretq_s8_u8(x));
  }
  INLINE Ints sums(Partial sum) { return sum; }
};

#if defined(__ARM_FEATURE_MATMUL_INT8)
/** Weights of four rows, in vectors of four columns, become two rows a vector, eight columns of each. */
INLINE void pairRows(Bytes (&weights)[8]) {
  for (int v = 0; v < 8; v += 2) {
    const uint32x4_t first = vreinterpretq_u32_u8(weights[v]);
    const uint32x4_t second = vreinterpretq_u32_u8(weights[v + 1]);
    weights[v] = vreinterpretq_u8_u32(vzip1q_u32(first, second));
    weights[v + 1] = vreinterpretq_u8_u32(vzip2q_u32(first, second));
  }
}
/** Eight bytes of each of two places. */
INLINE Bytes loadPair(const u8* a, const u8* b) { return vcombine_u8(vld1_u8(a), vld1_u8(b)); }
/** Adds the products of two rows of weights with two of activations: the first row's with both, then the second's. */
INLINE Ints multiplyPairs(Ints sums, Bytes weights, Bytes x) {
  return vmmlaq_s32(sums, vreinterpretq_s8_u8(weights), vreinterpretq_s8_u8(x));
}
/** What two pairs of rows make with the first row of activations, or with the second. */
INLINE Ints ofFirst(Ints low, Ints high) { return vuzp1q_s32(low, high); }
INLINE Ints ofSecond(Ints low, Ints high) { return vuzp2q_s32(low, high); }
#endif

/** A single lane has no halves: no vector holds both of a group. */
INLINE void sumHalves(const Ints (&of)[LANES], Ints& first, Ints& second) { first = second = of[0]; }
/** Lane q is the lanes of `of[q]` added up. */
INLINE Ints sumLanes(const Ints (&of)[LANES]) { return of[0]; }

INLINE Floats noFloats() { return vdupq_n_f32(0); }
INLINE Floats splatFloat(const u8* at) { return vld1q_dup_f32((const float*)at); }
INLINE Floats loadFloats(const u8* at) { return vld1q_f32((const float*)at); }
INLINE void storeFloats(u8* at, Floats v) { vst1q_f32((float*)at, v); }
/** The first `count` floats, 0 to `4 * LANES`. */
INLINE Floats loadSomeFloats(const u8* at, u32 count) {
  if (count == 4) return loadFloats(at);
  const float* of = (const float*)at;
  Floats v = noFloats();
  if (count > 0) v = vld1q_lane_f32(of, v, 0);
  if (count > 1) v = vld1q_lane_f32(of + 1, v, 1);
  if (count > 2) v = vld1q_lane_f32(of + 2, v, 2);
  return v;
}
INLINE void storeSomeFloats(u8* at, Floats v, u32 count) {
  float* of = (float*)at;
  if (count == 4) return storeFloats(at, v);
  if (count > 0) vst1q_lane_f32(of, v, 0);
  if (count > 1) vst1q_lane_f32(of + 1, v, 1);
  if (count > 2) vst1q_lane_f32(of + 2, v, 2);
}
INLINE Floats add(Floats a, Floats b) { return vaddq_f32(a, b); }
INLINE Floats sub(Floats a, Floats b) { return vsubq_f32(a, b); }
INLINE Floats mul(Floats a, Floats b) { return vmulq_f32(a, b); }
INLINE Floats toFloats(Ints v) { return vcvtq_f32_s32(v); }

/** Four signed bytes of each place. */
INLINE Ints loadLaneBytes(const u8* const (&at)[LANES]) {
  const int8x8_t bytes = vreinterpret_s8_u32(vld1_dup_u32((const u32*)at[0]));
  return vmovl_s16(vget_low_s16(vmovl_s8(bytes)));
}
INLINE Floats loadHalves(const u8* at) { return vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(at))); }
/** Four halves of each place. */
INLINE Floats loadLaneHalves(const u8* const (&at)[LANES]) { return loadHalves(at[0]); }
INLINE Floats loadLaneFloats(const u8* const (&at)[LANES]) { return loadFloats(at[0]); }

/** A lane's four floats, in every lane. */
INLINE Floats splatFour(const u8* at) { return loadFloats(at); }
INLINE float halfToFloat(const u8* at) { return (float)*(const __fp16*)at; }
/** Rounded to what halves hold, ties to even. */
INLINE Floats roundToHalves(Floats v) { return vcvt_f32_f16(vcvt_f16_f32(v)); }

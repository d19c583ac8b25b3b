/** AVX2 with F16C: Intel since Haswell, AMD since Zen. */
#pragma once
#include <immintrin.h>

constexpr int LANES = 2;
/** Strips of rows that products of many rows of activations compute together: as many as the registers hold. */
constexpr unsigned STRIPS_TOGETHER = 1;

using Bytes = __m256i;
using Ints = __m256i;
using Floats = __m256;

INLINE Bytes loadBytes(const u8* at) { return _mm256_loadu_si256((const __m256i*)at); }
INLINE void storeBytes(u8* at, Bytes v) { _mm256_storeu_si256((__m256i*)at, v); }
/** A vector with one lane of each of several places. */
INLINE Bytes loadLanes(const u8* const (&at)[LANES]) {
  return _mm256_inserti128_si256(
      _mm256_castsi128_si256(_mm_loadu_si128((const __m128i*)at[0])), _mm_loadu_si128((const __m128i*)at[1]), 1);
}
/** As many neighbouring lanes, over and over: one or two. */
template <int COUNT>
INLINE Bytes repeatLanes(const u8* at) {
  return COUNT == 1 ? _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i*)at)) : loadBytes(at);
}
INLINE Bytes splatBytes(const u8* lane) { return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i*)lane)); }
/** Four bytes, everywhere. */
INLINE Bytes splatWord(const u8* at) { return _mm256_set1_epi32(*(const i32*)at); }
/** Lane l of the result repeats word `words(l)` of the 32 bytes at `at`. */
template <class Words>
INLINE Bytes spread(const u8* at, Words words) {
  const __m256i order =
      _mm256_setr_epi32(words(0), words(0), words(0), words(0), words(1), words(1), words(1), words(1));
  return _mm256_permutevar8x32_epi32(loadBytes(at), order);
}

INLINE Bytes lowNibbles(Bytes v) { return _mm256_and_si256(v, _mm256_set1_epi8(15)); }
INLINE Bytes highNibbles(Bytes v) { return _mm256_and_si256(_mm256_srli_epi16(v, 4), _mm256_set1_epi8(15)); }
INLINE Bytes lookUp(Bytes table, Bytes codes) { return _mm256_shuffle_epi8(table, codes); }
/** `low` below `high`, both nibbles. */
INLINE Bytes joinNibbles(Bytes high, Bytes low) { return _mm256_or_si256(_mm256_slli_epi16(high, 4), low); }
/** The words of lane l shifted right by `shifts(l)` bits: what leaves a byte enters the one below. */
template <class Shifts>
INLINE Bytes shiftLanes(Bytes v, Shifts shifts) {
  const __m256i by =
      _mm256_setr_epi32(shifts(0), shifts(0), shifts(0), shifts(0), shifts(1), shifts(1), shifts(1), shifts(1));
  return _mm256_srlv_epi32(v, by);
}
/** Puts the lowest `BITS` bits of each byte above one nibble, and those four bits on above another. */
template <int BITS>
INLINE void addUpperBits(Bytes upper, Bytes& low, Bytes& high) {
  const Bytes both = _mm256_set1_epi8(BITS == 1 ? 16 : 48);
  low = _mm256_or_si256(low, _mm256_and_si256(_mm256_slli_epi16(upper, 4), both));
  high = _mm256_or_si256(high, _mm256_and_si256(upper, both));
}
INLINE Bytes flipSigns(Bytes v) { return _mm256_xor_si256(v, _mm256_set1_epi8(-128)); }
/** Bytes of each lane in this order. */
INLINE Bytes shuffleLanes(Bytes v, const u8* order) { return _mm256_shuffle_epi8(v, splatBytes(order)); }

INLINE Ints splatInts(i32 value) { return _mm256_set1_epi32(value); }
INLINE Ints addInts(Ints a, Ints b) { return _mm256_add_epi32(a, b); }
INLINE Ints mulInts(Ints a, Ints b) { return _mm256_mullo_epi32(a, b); }

/** Two numbers of 16 bits for each 32-bit lane. */
using Pairs = __m256i;
INLINE Pairs pairsOf(Ints first, Ints second) { return _mm256_blend_epi16(first, _mm256_slli_epi32(second, 16), 0xaa); }
/** Adds the products of pairs with the pair at `x`. */
INLINE Ints addPaired(Ints sum, Pairs pairs, const u8* x) { return addInts(sum, _mm256_madd_epi16(pairs, splatWord(x))); }

/** Eight-bit weights are multiplied signed. */
constexpr bool EIGHT_BITS_LIFTED = false;

/** Neighbouring 16-bit sums added to 32 bits. */
INLINE Ints addPairs(Ints pairs) { return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)); }

/**
 * Sums of products of weights of `BITS` bits with signed activations, four columns a row. Pairs are added up in 16 bits, saturating:
 * weights below 128 stay below that, and those below 16 in sums of eight pairs, too.
 */
template <int BITS>
struct Dot {
  using Partial = Ints;
  INLINE Partial none() { return _mm256_setzero_si256(); }
  INLINE Partial add(Partial sum, Bytes weights, Bytes x) {
    return addInts(sum, addPairs(_mm256_maddubs_epi16(weights, x)));
  }
  INLINE Ints sums(Partial sum) { return sum; }
};

template <>
struct Dot<4> {
  using Partial = Ints;
  INLINE Partial none() { return _mm256_setzero_si256(); }
  INLINE Partial add(Partial sum, Bytes weights, Bytes x) {
    return _mm256_add_epi16(sum, _mm256_maddubs_epi16(weights, x));
  }
  INLINE Ints sums(Partial sum) { return addPairs(sum); }
};

/** The weights' signs move to the activations, whose -127 to 127 have room for it: two products of 128 * 127 fit into 16 bits. */
template <>
struct Dot<8> {
  using Partial = Ints;
  INLINE Partial none() { return _mm256_setzero_si256(); }
  INLINE Partial add(Partial sum, Bytes weights, Bytes x) {
    return addInts(sum, addPairs(_mm256_maddubs_epi16(_mm256_abs_epi8(weights), _mm256_sign_epi8(x, weights))));
  }
  INLINE Ints sums(Partial sum) { return sum; }
};

/** Lane q of `first` is lane 0 of `of[q]`, of `second` lane 1. */
INLINE void sumHalves(const Ints (&of)[LANES], Ints& first, Ints& second) {
  first = _mm256_permute2x128_si256(of[0], of[1], 0x20);
  second = _mm256_permute2x128_si256(of[0], of[1], 0x31);
}
/** Lane q is the lanes of `of[q]` added up. */
INLINE Ints sumLanes(const Ints (&of)[LANES]) {
  Ints first;
  Ints second;
  sumHalves(of, first, second);
  return addInts(first, second);
}

INLINE Floats noFloats() { return _mm256_setzero_ps(); }
INLINE Floats splatFloat(const u8* at) { return _mm256_set1_ps(*(const float*)at); }
INLINE Floats loadFloats(const u8* at) { return _mm256_loadu_ps((const float*)at); }
INLINE void storeFloats(u8* at, Floats v) { _mm256_storeu_ps((float*)at, v); }
INLINE __m256i firstOf(u32 count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32((i32)count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
/** The first `count` floats, 0 to `4 * LANES`. */
INLINE Floats loadSomeFloats(const u8* at, u32 count) { return _mm256_maskload_ps((const float*)at, firstOf(count)); }
INLINE void storeSomeFloats(u8* at, Floats v, u32 count) { _mm256_maskstore_ps((float*)at, firstOf(count), v); }
INLINE Floats add(Floats a, Floats b) { return _mm256_add_ps(a, b); }
INLINE Floats sub(Floats a, Floats b) { return _mm256_sub_ps(a, b); }
INLINE Floats mul(Floats a, Floats b) { return _mm256_mul_ps(a, b); }
INLINE Floats toFloats(Ints v) { return _mm256_cvtepi32_ps(v); }

/** Four signed bytes of each place. */
INLINE Ints loadLaneBytes(const u8* const (&at)[LANES]) {
  return _mm256_cvtepi8_epi32(_mm_setr_epi32(*(const i32*)at[0], *(const i32*)at[1], 0, 0));
}
/** Four halves of each place. */
INLINE Floats loadLaneHalves(const u8* const (&at)[LANES]) {
  return _mm256_cvtph_ps(_mm_set_epi64x(*(const long long*)at[1], *(const long long*)at[0]));
}
INLINE Floats loadLaneFloats(const u8* const (&at)[LANES]) { return _mm256_castsi256_ps(loadLanes(at)); }

/** A lane's four floats, in every lane. */
INLINE Floats splatFour(const u8* at) { return _mm256_broadcast_ps((const __m128*)at); }
INLINE Floats loadHalves(const u8* at) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)at)); }
INLINE float halfToFloat(const u8* at) { return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(*(const unsigned short*)at))); }
/** Rounded to what halves hold, ties to even. */
INLINE Floats roundToHalves(Floats v) { return _mm256_cvtph_ps(_mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT)); }

/** AVX-512 with VNNI: Intel since Ice Lake, AMD since Zen 4. */
#pragma once
#include <immintrin.h>

constexpr int LANES = 4;
/** Strips of rows that products of many rows of activations compute together: as many as the registers hold. */
constexpr unsigned STRIPS_TOGETHER = 2;

using Bytes = __m512i;
using Ints = __m512i;
using Floats = __m512;

INLINE Bytes loadBytes(const u8* at) { return _mm512_loadu_si512(at); }
INLINE void storeBytes(u8* at, Bytes v) { _mm512_storeu_si512(at, v); }
/** A vector with one lane of each of several places. */
INLINE Bytes loadLanes(const u8* const (&at)[LANES]) {
  const __m256i low = _mm256_inserti128_si256(
      _mm256_castsi128_si256(_mm_loadu_si128((const __m128i*)at[0])), _mm_loadu_si128((const __m128i*)at[1]), 1);
  const __m256i high = _mm256_inserti128_si256(
      _mm256_castsi128_si256(_mm_loadu_si128((const __m128i*)at[2])), _mm_loadu_si128((const __m128i*)at[3]), 1);
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}
/** As many neighbouring lanes, over and over: one or two. */
template <int COUNT>
INLINE Bytes repeatLanes(const u8* at) {
  if (COUNT == 1) return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i*)at));
  return _mm512_broadcast_i64x4(_mm256_loadu_si256((const __m256i*)at));
}
INLINE Bytes splatBytes(const u8* lane) { return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i*)lane)); }
/** Four bytes, everywhere. */
INLINE Bytes splatWord(const u8* at) { return _mm512_set1_epi32(*(const i32*)at); }
/** Lane l of the result repeats word `words(l)` of the 32 bytes at `at`. */
template <class Words>
INLINE Bytes spread(const u8* at, Words words) {
  const __m512i order = _mm512_setr_epi32(
      words(0), words(0), words(0), words(0), words(1), words(1), words(1), words(1),
      words(2), words(2), words(2), words(2), words(3), words(3), words(3), words(3));
  return _mm512_permutexvar_epi32(order, _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i*)at)));
}

INLINE Bytes lowNibbles(Bytes v) { return _mm512_and_si512(v, _mm512_set1_epi8(15)); }
INLINE Bytes highNibbles(Bytes v) { return _mm512_and_si512(_mm512_srli_epi16(v, 4), _mm512_set1_epi8(15)); }
INLINE Bytes lookUp(Bytes table, Bytes codes) { return _mm512_shuffle_epi8(table, codes); }
/** `low` below `high`, both nibbles. */
INLINE Bytes joinNibbles(Bytes high, Bytes low) { return _mm512_or_si512(_mm512_slli_epi16(high, 4), low); }
/** The words of lane l shifted right by `shifts(l)` bits: what leaves a byte enters the one below. */
template <class Shifts>
INLINE Bytes shiftLanes(Bytes v, Shifts shifts) {
  const __m512i by = _mm512_setr_epi32(
      shifts(0), shifts(0), shifts(0), shifts(0), shifts(1), shifts(1), shifts(1), shifts(1),
      shifts(2), shifts(2), shifts(2), shifts(2), shifts(3), shifts(3), shifts(3), shifts(3));
  return _mm512_srlv_epi32(v, by);
}
/** Puts the lowest `BITS` bits of each byte above one nibble, and those four bits on above another. */
template <int BITS>
INLINE void addUpperBits(Bytes upper, Bytes& low, Bytes& high) {
  const Bytes both = _mm512_set1_epi8(BITS == 1 ? 16 : 48);
  low = _mm512_ternarylogic_epi32(low, _mm512_slli_epi16(upper, 4), both, 0xf8);
  high = _mm512_ternarylogic_epi32(high, upper, both, 0xf8);
}
INLINE Bytes flipSigns(Bytes v) { return _mm512_xor_si512(v, _mm512_set1_epi8(-128)); }
/** Bytes of each lane in this order. */
INLINE Bytes shuffleLanes(Bytes v, const u8* order) { return _mm512_shuffle_epi8(v, splatBytes(order)); }

INLINE Ints splatInts(i32 value) { return _mm512_set1_epi32(value); }
INLINE Ints addInts(Ints a, Ints b) { return _mm512_add_epi32(a, b); }
INLINE Ints mulInts(Ints a, Ints b) { return _mm512_mullo_epi32(a, b); }

/** Two numbers of 16 bits for each 32-bit lane. */
using Pairs = __m512i;
INLINE Pairs pairsOf(Ints first, Ints second) {
  return _mm512_mask_blend_epi16(0xaaaaaaaa, first, _mm512_slli_epi32(second, 16));
}
/** Adds the products of pairs with the pair at `x`. */
INLINE Ints addPaired(Ints sum, Pairs pairs, const u8* x) { return _mm512_dpwssd_epi32(sum, pairs, splatWord(x)); }

/** Eight-bit weights are multiplied unsigned, 128 too large. */
constexpr bool EIGHT_BITS_LIFTED = true;

/** Sums of products of weights of `BITS` bits with signed activations, four columns a row. */
template <int BITS>
struct Dot {
  using Partial = Ints;
  INLINE Partial none() { return _mm512_setzero_si512(); }
  INLINE Partial add(Partial sum, Bytes weights, Bytes x) { return _mm512_dpbusd_epi32(sum, weights, x); }
  INLINE Ints sums(Partial sum) { return sum; }
};

/** Lane q of `first` is lanes 0 and 1 of `of[q]` added up, of `second` lanes 2 and 3. */
INLINE void sumHalves(const Ints (&of)[LANES], Ints& first, Ints& second) {
  const Ints a = _mm512_shuffle_i64x2(of[0], of[1], 0x44);
  const Ints b = _mm512_shuffle_i64x2(of[2], of[3], 0x44);
  const Ints c = _mm512_shuffle_i64x2(of[0], of[1], 0xee);
  const Ints d = _mm512_shuffle_i64x2(of[2], of[3], 0xee);
  first = addInts(_mm512_shuffle_i64x2(a, b, 0x88), _mm512_shuffle_i64x2(a, b, 0xdd));
  second = addInts(_mm512_shuffle_i64x2(c, d, 0x88), _mm512_shuffle_i64x2(c, d, 0xdd));
}
/** Lane q is the lanes of `of[q]` added up. */
INLINE Ints sumLanes(const Ints (&of)[LANES]) {
  const Ints a = addInts(_mm512_shuffle_i64x2(of[0], of[1], 0x44), _mm512_shuffle_i64x2(of[0], of[1], 0xee));
  const Ints b = addInts(_mm512_shuffle_i64x2(of[2], of[3], 0x44), _mm512_shuffle_i64x2(of[2], of[3], 0xee));
  return addInts(_mm512_shuffle_i64x2(a, b, 0x88), _mm512_shuffle_i64x2(a, b, 0xdd));
}

INLINE Floats noFloats() { return _mm512_setzero_ps(); }
INLINE Floats splatFloat(const u8* at) { return _mm512_set1_ps(*(const float*)at); }
INLINE Floats loadFloats(const u8* at) { return _mm512_loadu_ps(at); }
INLINE void storeFloats(u8* at, Floats v) { _mm512_storeu_ps(at, v); }
INLINE __mmask16 firstOf(u32 count) { return (__mmask16)((1u << count) - 1); }
/** The first `count` floats, 0 to `4 * LANES`. */
INLINE Floats loadSomeFloats(const u8* at, u32 count) { return _mm512_maskz_loadu_ps(firstOf(count), at); }
INLINE void storeSomeFloats(u8* at, Floats v, u32 count) { _mm512_mask_storeu_ps(at, firstOf(count), v); }
INLINE Floats add(Floats a, Floats b) { return _mm512_add_ps(a, b); }
INLINE Floats sub(Floats a, Floats b) { return _mm512_sub_ps(a, b); }
INLINE Floats mul(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
INLINE Floats toFloats(Ints v) { return _mm512_cvtepi32_ps(v); }

INLINE __m128i pairOfWords(const u8* a, const u8* b, const u8* c, const u8* d) {
  return _mm_setr_epi32(*(const i32*)a, *(const i32*)b, *(const i32*)c, *(const i32*)d);
}
/** Four signed bytes of each place. */
INLINE Ints loadLaneBytes(const u8* const (&at)[LANES]) {
  return _mm512_cvtepi8_epi32(pairOfWords(at[0], at[1], at[2], at[3]));
}
/** Four halves of each place. */
INLINE Floats loadLaneHalves(const u8* const (&at)[LANES]) {
  const __m256i all = _mm256_setr_epi64x(
      *(const long long*)at[0], *(const long long*)at[1], *(const long long*)at[2], *(const long long*)at[3]);
  return _mm512_cvtph_ps(all);
}
INLINE Floats loadLaneFloats(const u8* const (&at)[LANES]) { return _mm512_castsi512_ps(loadLanes(at)); }

/** A lane's four floats, in every lane. */
INLINE Floats splatFour(const u8* at) { return _mm512_broadcast_f32x4(_mm_loadu_ps((const float*)at)); }
INLINE Floats loadHalves(const u8* at) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i*)at)); }
INLINE float halfToFloat(const u8* at) { return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(*(const unsigned short*)at))); }
/** Rounded to what halves hold, ties to even. */
INLINE Floats roundToHalves(Floats v) { return _mm512_cvtph_ps(_mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT)); }

/**
 * Products of weights in F32, F16 and BF16 with activations in f32: `floats.ts` of the WebAssembly kernels, which describes the layouts,
 * with the same results: even and odd columns are added up apart.
 */
#include "elementary.h"
#include "strips.h"

enum FloatType { TYPE_F32, TYPE_F16, TYPE_BF16 };

constexpr u32 FLOAT_STRIP_ROWS = 4 * LANES;

/** Rows of activations that pass over a strip together: as many as the registers hold sums of. */
constexpr u32 FLOAT_ROWS_TOGETHER = 4 * STRIPS_TOGETHER;

constexpr u32 pairBytes(FloatType type) { return type == TYPE_F32 ? 32 : 16; }
/** Bytes before a quad's columns. */
constexpr u32 leadBytes(FloatType type) { return type == TYPE_F16 ? 16 : 0; }
constexpr u64 floatQuadBytes(FloatType type, u32 columns) {
  return type == TYPE_F32 ? (u64)columns << 4 : leadBytes(type) + ((u64)((columns + 1) >> 1) << 4);
}

/** Finite halves in the upper 16 bits as f32: the exponent's bias is mended by a multiplication, which is exact. */
INLINE Wide widenUpper(WideInts bits) {
  constexpr float REBIAS = 5192296858534827628530496329220096.0f;
  return (Wide)((bits >> 3) & (i32)0x8fffe000) * REBIAS;
}

/** A pair of columns of a strip's rows. */
struct Pair {
  Wide even;
  Wide odd;
};

template <FloatType TYPE>
INLINE Pair pairOf(const Strip& strip, u64 at) {
  if (TYPE == TYPE_F32) return {(Wide)loadLaneFloats(strip.at(at).places), (Wide)loadLaneFloats(strip.at(at + 16).places)};
  const WideInts bits = (WideInts)loadLanes(strip.at(at).places);
  if (TYPE == TYPE_BF16) return {(Wide)(bits << 16), (Wide)(bits & (i32)0xffff0000)};
  return {widenUpper(bits << 16), widenUpper(bits)};
}

/** The even column of the pair that ends an odd number of columns. */
template <FloatType TYPE>
INLINE Wide lastColumn(const Strip& strip, u64 at) {
  if (TYPE == TYPE_F32) return (Wide)loadLaneFloats(strip.at(at).places);
  return pairOf<TYPE>(strip, at).even;
}

/** The outputs of a strip out of its sums. */
template <FloatType TYPE>
INLINE Floats restored(const Strip& strip, Wide even, Wide odd) {
  const Wide sum = even + odd;
  return (Floats)(TYPE == TYPE_F16 ? sum * (Wide)loadLaneFloats(strip.at(0).places) : sum);
}

INLINE Wide splatOf(const u8* at) { return (Wide)splatFloat(at); }

/** What a product is computed with: rows of activations of `columns` values, and of outputs of `stride`. */
struct FloatProduct {
  const u8* packed;
  const u8* x;
  u8* y;
  u32 columns, tokens, stride;
};

/** The outputs of a strip for `TOKENS` rows of activations from `token` on, of which some are there. */
template <FloatType TYPE, u32 TOKENS>
INLINE void floatStrip(const FloatProduct& of, const Strip& strip, QuadsAhead& ahead, u32 token, u32 r, u32 rows) {
  const u8* x[TOKENS];
  Wide even[TOKENS] = {};
  Wide odd[TOKENS] = {};
  for (u32 t = 0; t < TOKENS; t++) {
    const u32 row = token + t < of.tokens ? token + t : of.tokens - 1;
    x[t] = of.x + 4 * (u64)of.columns * row;
  }
  u64 at = leadBytes(TYPE);
  u64 column = 0;
  for (u32 pairs = of.columns >> 1; pairs > 0; pairs--) {
    if (TOKENS == 1) ahead.fetch(pairBytes(TYPE));
    const Pair pair = pairOf<TYPE>(strip, at);
    for (u32 t = 0; t < TOKENS; t++) {
      even[t] += pair.even * splatOf(x[t] + column);
      odd[t] += pair.odd * splatOf(x[t] + column + 4);
    }
    at += pairBytes(TYPE);
    column += 8;
  }
  if (of.columns & 1) {
    const Wide last = lastColumn<TYPE>(strip, at);
    for (u32 t = 0; t < TOKENS; t++) even[t] += last * splatOf(x[t] + column);
  }
  for (u32 t = 0; t < TOKENS && token + t < of.tokens; t++) {
    storeSomeFloats(of.y + 4 * ((u64)of.stride * (token + t) + r), restored<TYPE>(strip, even[t], odd[t]), rows);
  }
}

template <FloatType TYPE>
INLINE void floatProduct(const FloatProduct& of, u32 begin, u32 end) {
  const u64 quad = floatQuadBytes(TYPE, of.columns);
  for (u32 r = begin; r < end; r += FLOAT_STRIP_ROWS) {
    const u32 rows = end - r < FLOAT_STRIP_ROWS ? end - r : FLOAT_STRIP_ROWS;
    const Strip strip(of.packed, quad, r, rows);
    QuadsAhead ahead(strip, quad, r + FLOAT_STRIP_ROWS >= end);
    u32 token = 0;
    for (; token + 1 < of.tokens; token += FLOAT_ROWS_TOGETHER) {
      floatStrip<TYPE, FLOAT_ROWS_TOGETHER>(of, strip, ahead, token, r, rows);
    }
    if (token < of.tokens) floatStrip<TYPE, 1>(of, strip, ahead, token, r, rows);
  }
}

/** The kernels of a type, behind the addresses of WebAssembly's 0 that products have; they need no scratch. */
#define FLOAT_PRODUCTS(name, TYPE)                                                                                         \
  KERNEL void matvec_##name(                                                                                               \
      u8* base, const u8* matrices, u32 packed, u32 x, u32 y, u32 begin, u32 end, u32 columns, u32, u32) {                 \
    floatProduct<TYPE>({matrices + packed, base + x, rowZero(base, y, begin), columns, 1, 0}, begin, end);                 \
  }                                                                                                                        \
  KERNEL void matmat_##name(                                                                                               \
      u8* base, const u8* matrices, u32 packed, u32 x, u32 y, u32 begin, u32 end, u32 columns, u32 tokens, u32 stride,     \
      u32) {                                                                                                               \
    floatProduct<TYPE>({matrices + packed, base + x, rowZero(base, y, begin), columns, tokens, stride}, begin, end);       \
  }

FLOAT_PRODUCTS(f32, TYPE_F32)
FLOAT_PRODUCTS(f16, TYPE_F16)
FLOAT_PRODUCTS(bf16, TYPE_BF16)

/**
 * Products of quantized weights with activations in 8 bits: `matvec.ts` and `matmat.ts` of the WebAssembly kernels, on the same weights
 * and with the same results. Rows are computed in strips of `LANES` quads.
 */
#include "prelude.h"
#include "weights.h"

/** Parts of a record of 32 activations; see `../../kernels/quantize.ts`. */
constexpr u32 RECORD_BYTES = 48;
constexpr u32 X_SCALE = 32;
constexpr u32 X_SUM = 36;
constexpr u32 X_FIRST_SUM = 40;
constexpr u32 X_LIFT = 44;

/** Rows of activations whose records stand interleaved where there are several. */
constexpr u32 TILE = 4;
constexpr u32 TILE_STEP = TILE * RECORD_BYTES;

constexpr u32 STRIP_ROWS = 4 * LANES;

/** What centered codes are above the weights in a sum of products, to be taken off. */
template <Codes CODES>
INLINE i32 liftOf(const u8* x) {
  const i32 lift = *(const i32*)(x + X_LIFT);
  if (CODES == LIFTED) return lift;
  return isEightBit(CODES) && EIGHT_BITS_LIFTED ? lift * 16 : 0;
}

/** What a group adds to the outputs of a strip. */
INLINE Floats wholeProduct(bool centered, Ints sums, const u8* x, Floats scale, Floats offset) {
  const Floats scaled = mul(toFloats(sums), mul(scale, splatFloat(x + X_SCALE)));
  return centered ? scaled : add(scaled, mul(offset, splatFloat(x + X_SUM)));
}

/** The same where the halves of a group have scales of their own. */
INLINE Floats splitProduct(Ints first, Ints second, const u8* x, const Scales& s) {
  const Floats a = mul(toFloats(first), s.scale);
  const Floats b = mul(toFloats(second), s.secondScale);
  const Floats c = mul(s.firstOffset, splatFloat(x + X_FIRST_SUM));
  const Floats d = mul(s.secondOffset, splatFloat(x + X_SUM));
  return add(mul(add(a, b), splatFloat(x + X_SCALE)), add(c, d));
}

/** A group's sums for a single row of activations: of its halves, or of both in `first`. */
template <Codes CODES, Words WORDS>
INLINE void groupSums(const Strip& strip, u64 at, const u8* x, const Tables& tables, Ints& first, Ints& second) {
  using D = Dot<bitsOf(CODES)>;
  constexpr bool split = splitsGroups(WORDS);
  constexpr int vectors = codeBytes(CODES) / (16 * LANES);
  // A vector of nibbles may hold both halves of a group: then its lanes are added up by halves.
  constexpr bool mixed = split && vectors == 1;
  Ints sums[LANES];
  Ints others[LANES];
  for (int q = 0; q < LANES; q++) {
    const u8* p = strip.quads[q] + at;
    typename D::Partial one = D::none();
    typename D::Partial two = D::none();
    for (int v = 0; v < vectors; v++) {
      const Bytes codes = loadBytes(p + 16 * LANES * v);
      typename D::Partial& part = split && !mixed && 2 * v >= vectors ? two : one;
      if (hasNibbles(CODES)) {
        part = D::add(part, weightsOf<CODES>(lowNibbles(codes), tables), spread(x, [=](int l) { return nibbleWord(v * LANES + l); }));
        part = D::add(part, weightsOf<CODES>(highNibbles(codes), tables), spread(x, [=](int l) { return nibbleWord(v * LANES + l) + 2; }));
      } else {
        part = D::add(part, weightsOf<CODES>(codes, tables), spread(x, [=](int l) { return v * LANES + l; }));
      }
    }
    sums[q] = D::sums(one);
    others[q] = D::sums(two);
  }
  if (mixed) sumHalves(sums, first, second);
  else {
    first = addInts(sumLanes(sums), splatInts(liftOf<CODES>(x)));
    if (split) second = sumLanes(others);
  }
}

template <Codes CODES, Words WORDS>
INLINE void matVec(const u8* packed, const u8* x, u8* y, u32 begin, u32 end, u32 columns, u32 lanes) {
  const u32 groups = (columns + 31) >> 5;
  const u64 step = (u64)RECORD_BYTES * lanes;
  const Tables tables(packed);
  for (u32 r = begin; r < end; r += STRIP_ROWS) {
    const u32 rows = end - r < STRIP_ROWS ? end - r : STRIP_ROWS;
    const Strip strip(packed, quadBytes(CODES, WORDS, groups), r, rows);
    Floats sum = noFloats();
    SuperScales above;
    u64 at = 0;
    const u8* record = x;
    for (u32 g = 0; g < groups; g++) {
      if (hasSubScales(WORDS) && (g & 7) == 0) {
        above = SuperScales(strip, at);
        at += SUPER_BYTES;
      }
      Ints first;
      Ints second;
      groupSums<CODES, WORDS>(strip, at, record, tables, first, second);
      const Scales s = scalesOf<CODES, WORDS>(strip, at + codeBytes(CODES), above, tables);
      sum = add(sum, splitsGroups(WORDS) ? splitProduct(first, second, record, s)
                                         : wholeProduct(isCentered(CODES), first, record, s.scale, s.firstOffset));
      at += groupBytes(CODES, WORDS);
      record += step;
    }
    storeSomeFloats(y + 4 * (u64)r, sum, rows);
  }
}

/** Groups of a strip that are unpacked at a time, a multiple of eight: they stay in the first-level cache. */
constexpr u32 PANEL_GROUPS = 32;

/** A strip's group unpacked: the weights of all rows, four columns a vector, and their scales. */
struct PanelGroup {
  Bytes weights[8];
  Scales scales;
};

template <Codes CODES, Words WORDS>
INLINE u64 unpack(const Strip& strip, u64 at, u32 groups, const Tables& tables, PanelGroup* panel) {
  SuperScales above;
  for (u32 g = 0; g < groups; g++) {
    if (hasSubScales(WORDS) && (g & 7) == 0) {
      above = SuperScales(strip, at);
      at += SUPER_BYTES;
    }
    if (hasNibbles(CODES)) {
      for (int v = 0; v < 4; v++) {
        const Bytes codes = loadLanes(strip.at(at + 16 * v).places);
        panel->weights[nibbleWord(v)] = weightsOf<CODES>(lowNibbles(codes), tables);
        panel->weights[nibbleWord(v) + 2] = weightsOf<CODES>(highNibbles(codes), tables);
      }
    } else {
      for (int v = 0; v < 8; v++) {
        panel->weights[v] = weightsOf<CODES>(loadLanes(strip.at(at + 16 * v).places), tables);
      }
    }
    panel->scales = scalesOf<CODES, WORDS>(strip, at + codeBytes(CODES), above, tables);
    at += groupBytes(CODES, WORDS);
    panel++;
  }
  return at;
}

/** Adds what a panel's groups make of a tile of activations to its outputs. */
template <Codes CODES, Words WORDS>
INLINE void passTile(const PanelGroup* panel, u32 groups, const u8* x, Floats (&sums)[TILE]) {
  using D = Dot<bitsOf(CODES)>;
  constexpr bool split = splitsGroups(WORDS);
  for (u32 g = 0; g < groups; g++, panel++, x += TILE_STEP) {
    typename D::Partial first[TILE];
    typename D::Partial second[TILE];
    for (u32 t = 0; t < TILE; t++) first[t] = second[t] = D::none();
    for (int v = 0; v < 8; v++) {
      const Bytes weights = panel->weights[v];
      for (u32 t = 0; t < TILE; t++) {
        typename D::Partial& part = split && v >= 4 ? second[t] : first[t];
        part = D::add(part, weights, splatWord(x + RECORD_BYTES * t + 4 * v));
      }
    }
    for (u32 t = 0; t < TILE; t++) {
      const u8* record = x + RECORD_BYTES * t;
      const Ints whole = addInts(D::sums(first[t]), splatInts(liftOf<CODES>(record)));
      sums[t] = add(sums[t], split ? splitProduct(whole, D::sums(second[t]), record, panel->scales)
                                   : wholeProduct(isCentered(CODES), whole, record, panel->scales.scale, panel->scales.firstOffset));
    }
  }
}

template <Codes CODES, Words WORDS>
INLINE void matMat(const u8* packed, const u8* x, u8* y, u32 begin, u32 end, u32 columns, u32 tokens, u32 stride) {
  const u32 groups = (columns + 31) >> 5;
  const u64 tileBytes = (u64)TILE_STEP * groups;
  const Tables tables(packed);
  PanelGroup panel[PANEL_GROUPS];
  for (u32 r = begin; r < end; r += STRIP_ROWS) {
    const u32 rows = end - r < STRIP_ROWS ? end - r : STRIP_ROWS;
    const Strip strip(packed, quadBytes(CODES, WORDS, groups), r, rows);
    u64 at = 0;
    for (u32 g = 0; g < groups; g += PANEL_GROUPS) {
      const u32 some = groups - g < PANEL_GROUPS ? groups - g : PANEL_GROUPS;
      at = unpack<CODES, WORDS>(strip, at, some, tables, panel);
      for (u32 token = 0; token < tokens; token += TILE) {
        const u32 there = tokens - token < TILE ? tokens - token : TILE;
        u8* out = y + 4 * ((u64)stride * token + r);
        Floats sums[TILE];
        for (u32 t = 0; t < TILE; t++) {
          sums[t] = g == 0 || t >= there ? noFloats() : loadSomeFloats(out + 4 * (u64)stride * t, rows);
        }
        passTile<CODES, WORDS>(panel, some, x + tileBytes * (token / TILE) + (u64)TILE_STEP * g, sums);
        for (u32 t = 0; t < there; t++) storeSomeFloats(out + 4 * (u64)stride * t, sums[t], rows);
      }
    }
  }
}

/** The kernels of a layout, as `MatVecKernel` and `MatMatKernel` of `../../kernel-exports.ts` describe them; they need no scratch. */
#define PRODUCTS(name, CODES, WORDS)                                                                                      \
  KERNEL void matvec_##name(const u8* packed, const u8* x, u8* y, u32 begin, u32 end, u32 columns, u32 lanes, u32) {      \
    matVec<CODES, WORDS>(packed, x, y, begin, end, columns, lanes);                                                       \
  }                                                                                                                       \
  KERNEL void matmat_##name(                                                                                              \
      const u8* packed, const u8* x, u8* y, u32 begin, u32 end, u32 columns, u32 tokens, u32 stride, u32) {               \
    matMat<CODES, WORDS>(packed, x, y, begin, end, columns, tokens, stride);                                              \
  }

PRODUCTS(lifted_half, LIFTED, HALF)
PRODUCTS(small_half_offset, SMALL, HALF_OFFSET)
PRODUCTS(small_sub, SMALL, SUB)
PRODUCTS(small_sub16, SMALL, SUB_16)
PRODUCTS(small_sub16_offset, SMALL, SUB_16_OFFSET)
PRODUCTS(large_float, LARGE, FLOAT)
PRODUCTS(large_float16, LARGE, FLOAT_16)
PRODUCTS(large_sub, LARGE, SUB)
PRODUCTS(large_sub16, LARGE, SUB_16)
PRODUCTS(wide_half, WIDE, HALF)
PRODUCTS(wide_sub, WIDE, SUB)
PRODUCTS(medium_half, MEDIUM, HALF)
PRODUCTS(medium_half_offset, MEDIUM, HALF_OFFSET)
PRODUCTS(medium_sub, MEDIUM, SUB)
PRODUCTS(medium_sub16, MEDIUM, SUB_16)
PRODUCTS(signed_half, SIGNED, HALF)

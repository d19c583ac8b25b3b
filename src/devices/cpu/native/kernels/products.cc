/**
 * Products of quantized weights with activations in 8 bits: `matvec.ts` and `matmat.ts` of the WebAssembly kernels, on the same weights
 * and with the same results. Rows are computed in strips of `LANES` quads.
 */
#include "records.h"
#include "weights.h"

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
  const u64 quad = quadBytes(CODES, WORDS, groups);
  const u64 step = (u64)RECORD_BYTES * lanes;
  const Tables tables(packed);
  for (u32 r = begin; r < end; r += STRIP_ROWS) {
    const u32 rows = end - r < STRIP_ROWS ? end - r : STRIP_ROWS;
    const Strip strip(packed, quad, r, rows);
    NextStrip following(strip, quad);
    Floats sum = noFloats();
    SuperScales above;
    u64 at = 0;
    const u8* record = x;
    for (u32 g = 0; g < groups; g++) {
      if (hasSubScales(WORDS) && (g & 7) == 0) {
        above = SuperScales(strip, at);
        at += SUPER_BYTES;
        following.fetch(SUPER_BYTES);
      }
      following.fetch(groupBytes(CODES, WORDS));
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

/** Groups of a strip that are unpacked at a time, a multiple of eight: those of `STRIPS_TOGETHER` strips stay in the first-level cache. */
constexpr u32 PANEL_GROUPS = 16;

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

/** Adds what the panels of `STRIPS` strips make of a tile of activations to its outputs: each word of activations serves all of them. */
template <Codes CODES, Words WORDS, u32 STRIPS>
INLINE void passTile(const PanelGroup (&panels)[STRIPS][PANEL_GROUPS], u32 groups, const u8* x, Floats (&sums)[STRIPS][TILE]) {
  using D = Dot<bitsOf(CODES)>;
  constexpr bool split = splitsGroups(WORDS);
  for (u32 g = 0; g < groups; g++, x += TILE_STEP) {
    typename D::Partial first[STRIPS][TILE];
    typename D::Partial second[STRIPS][TILE];
    for (u32 s = 0; s < STRIPS; s++) {
      for (u32 t = 0; t < TILE; t++) first[s][t] = second[s][t] = D::none();
    }
    for (int v = 0; v < 8; v++) {
      for (u32 t = 0; t < TILE; t++) {
        const Bytes word = splatWord(x + RECORD_BYTES * t + 4 * v);
        for (u32 s = 0; s < STRIPS; s++) {
          typename D::Partial& part = split && v >= 4 ? second[s][t] : first[s][t];
          part = D::add(part, panels[s][g].weights[v], word);
        }
      }
    }
    for (u32 t = 0; t < TILE; t++) {
      const u8* record = x + RECORD_BYTES * t;
      for (u32 s = 0; s < STRIPS; s++) {
        const Scales& of = panels[s][g].scales;
        const Ints whole = addInts(D::sums(first[s][t]), splatInts(liftOf<CODES>(record)));
        sums[s][t] = add(sums[s][t], split ? splitProduct(whole, D::sums(second[s][t]), record, of)
                                           : wholeProduct(isCentered(CODES), whole, record, of.scale, of.firstOffset));
      }
    }
  }
}

/** What a product of many rows of activations is computed with. */
struct ManyRows {
  const u8* packed;
  const u8* x;
  u8* y;
  u32 columns, tokens, stride;
};

/** The outputs of `STRIPS` strips from row `r`, `rows` in all, none of the strips empty. */
template <Codes CODES, Words WORDS, u32 STRIPS>
INLINE void matMatStrips(const ManyRows& of, const Tables& tables, u32 r, u32 rows) {
  const u32 groups = (of.columns + 31) >> 5;
  const u64 quad = quadBytes(CODES, WORDS, groups);
  const u64 tileBytes = (u64)TILE_STEP * groups;
  u32 part[STRIPS];
  for (u32 s = 0; s < STRIPS; s++) part[s] = rows - s * STRIP_ROWS < STRIP_ROWS ? rows - s * STRIP_ROWS : STRIP_ROWS;
  PanelGroup panels[STRIPS][PANEL_GROUPS];
  u64 at = 0;
  for (u32 g = 0; g < groups; g += PANEL_GROUPS) {
    const u32 some = groups - g < PANEL_GROUPS ? groups - g : PANEL_GROUPS;
    u64 next = at;
    for (u32 s = 0; s < STRIPS; s++) {
      const u32 row = r + s * STRIP_ROWS;
      next = unpack<CODES, WORDS>(Strip(of.packed, quad, row, part[s]), at, some, tables, panels[s]);
    }
    at = next;
    for (u32 token = 0; token < of.tokens; token += TILE) {
      const u32 there = of.tokens - token < TILE ? of.tokens - token : TILE;
      u8* out = of.y + 4 * ((u64)of.stride * token + r);
      Floats sums[STRIPS][TILE];
      for (u32 s = 0; s < STRIPS; s++) {
        for (u32 t = 0; t < TILE; t++) {
          const u8* from = out + 4 * ((u64)of.stride * t + s * STRIP_ROWS);
          sums[s][t] = g == 0 || t >= there ? noFloats() : loadSomeFloats(from, part[s]);
        }
      }
      passTile<CODES, WORDS, STRIPS>(panels, some, of.x + tileBytes * (token / TILE) + (u64)TILE_STEP * g, sums);
      for (u32 s = 0; s < STRIPS; s++) {
        for (u32 t = 0; t < there; t++) {
          storeSomeFloats(out + 4 * ((u64)of.stride * t + s * STRIP_ROWS), sums[s][t], part[s]);
        }
      }
    }
  }
}

template <Codes CODES, Words WORDS>
INLINE void matMat(const ManyRows& of, u32 begin, u32 end) {
  const Tables tables(of.packed);
  constexpr u32 together = STRIPS_TOGETHER * STRIP_ROWS;
  u32 r = begin;
  for (; r + together - STRIP_ROWS < end; r += together) {
    matMatStrips<CODES, WORDS, STRIPS_TOGETHER>(of, tables, r, end - r < together ? end - r : together);
  }
  if (STRIPS_TOGETHER == 1) return;
  for (; r < end; r += STRIP_ROWS) {
    matMatStrips<CODES, WORDS, 1>(of, tables, r, end - r < STRIP_ROWS ? end - r : STRIP_ROWS);
  }
}

/**
 * The kernels of a layout, as `MatVecKernel` and `MatMatKernel` of `../../kernel-exports.ts` describe them, behind the address of
 * WebAssembly's 0; they need no scratch.
 */
#define PRODUCTS(name, CODES, WORDS)                                                                                      \
  KERNEL void matvec_##name(u8* base, u32 packed, u32 x, u32 y, u32 begin, u32 end, u32 columns, u32 lanes, u32) {        \
    matVec<CODES, WORDS>(base + packed, base + x, base + y, begin, end, columns, lanes);                                  \
  }                                                                                                                       \
  KERNEL void matmat_##name(                                                                                              \
      u8* base, u32 packed, u32 x, u32 y, u32 begin, u32 end, u32 columns, u32 tokens, u32 stride, u32) {                 \
    matMat<CODES, WORDS>({base + packed, base + x, base + y, columns, tokens, stride}, begin, end);                       \
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

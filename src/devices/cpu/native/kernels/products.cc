/**
 * Products of quantized weights with activations in 8 bits: `matvec.ts` and `matmat.ts` of the WebAssembly kernels, on the same weights
 * and with the same results. Rows are computed in strips of `LANES` quads.
 */
#include "records.h"
#include "weights.h"

/** Rows of activations that pass over panels together: neighbours in a tile. */
constexpr u32 ROWS_TOGETHER = 4;

constexpr u32 STRIP_ROWS = 4 * LANES;

/** A sum of products without what centered codes are above the weights. */
template <Codes CODES, Words WORDS>
INLINE Ints lowered(Ints sums, const u8* x) {
  if (CODES != LIFTED && !(isEightBit(CODES) && EIGHT_BITS_LIFTED)) return sums;
  if (hasSubScales(WORDS)) return addPaired(sums, pairsOf(splatInts(-128), splatInts(-128)), x + X_SUMS);
  const i32 lift = *(const i32*)(x + X_LIFT);
  return addInts(sums, splatInts(CODES == LIFTED ? lift : 16 * lift));
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

/** The sums of a super-block, in whole numbers: see `../../kernels/layout.ts`. */
struct SuperSums {
  Ints scaled = splatInts(0);
  Ints shifted = splatInts(0);

  /** Adds those of a group. */
  template <Codes CODES, Words WORDS>
  __attribute__((always_inline)) void addGroup(Ints first, Ints second, const u8* x, const SubScales& s) {
    scaled = addInts(scaled, mulInts(first, s.first));
    if (splitsGroups(WORDS)) scaled = addInts(scaled, mulInts(second, s.second));
    if (!isCentered(CODES)) shifted = addPaired(shifted, s.offsets, x + X_SUMS);
  }
  /** What they add to the outputs of a strip. */
  template <Codes CODES>
  __attribute__((always_inline)) Floats product(const u8* x, const SuperScales& above) const {
    const Floats xScale = splatFloat(x + X_SCALE);
    const Floats product = mul(toFloats(scaled), mul(above.scale, xScale));
    return isCentered(CODES) ? product : add(product, mul(toFloats(shifted), mul(above.offset, xScale)));
  }
};

/** Adds a group to the outputs of a strip, or with sub-scales to the sums of its super-block. */
template <Codes CODES, Words WORDS>
INLINE void addGroup(Ints first, Ints second, const u8* x, const Scales& s, Floats& sum, SuperSums&) {
  sum = add(sum, splitsGroups(WORDS) ? splitProduct(first, second, x, s)
                                     : wholeProduct(isCentered(CODES), first, x, s.scale, s.firstOffset));
}
template <Codes CODES, Words WORDS>
INLINE void addGroup(Ints first, Ints second, const u8* x, const SubScales& s, Floats&, SuperSums& sums) {
  sums.template addGroup<CODES, WORDS>(first, second, x, s);
}

/** A group's sums for a single row of activations: of its halves, or of both in `first`. */
template <Codes CODES, Words WORDS>
INLINE void groupSums(const Strip& strip, u64 at, const u8* x, const Tables& tables, Ints& first, Ints& second) {
  using D = Dot<bitsOf(CODES)>;
  constexpr bool split = splitsGroups(WORDS);
  constexpr int vectors = (hasNibbles(CODES) ? NIBBLE_BYTES : codeBytes(CODES)) / (16 * LANES);
  // A vector of nibbles may hold both halves of a group: then its lanes are added up by halves.
  constexpr bool mixed = split && vectors == 1;
  Ints sums[LANES];
  Ints others[LANES];
  for (int q = 0; q < LANES; q++) {
    const u8* p = strip.quads[q] + at;
    typename D::Partial one = D::none();
    typename D::Partial two = D::none();
    for (int v = 0; v < vectors; v++) {
      typename D::Partial& part = split && !mixed && 2 * v >= vectors ? two : one;
      if (hasNibbles(CODES)) {
        Bytes low;
        Bytes high;
        splitCodes<CODES>(p, v, low, high);
        part = D::add(part, weightsOf<CODES>(low, tables), spread(x, [=](int l) { return nibbleWord(v * LANES + l); }));
        part = D::add(part, weightsOf<CODES>(high, tables), spread(x, [=](int l) { return nibbleWord(v * LANES + l) + 2; }));
      } else {
        const Bytes codes = loadBytes(p + 16 * LANES * v);
        part = D::add(part, weightsOf<CODES>(codes, tables), spread(x, [=](int l) { return v * LANES + l; }));
      }
    }
    sums[q] = D::sums(one);
    others[q] = D::sums(two);
  }
  if (mixed) sumHalves(sums, first, second);
  else {
    first = lowered<CODES, WORDS>(sumLanes(sums), x);
    if (split) second = sumLanes(others);
  }
}

/** Products of a row of activations. */
template <Codes CODES, Words WORDS>
INLINE void matVec(const u8* packed, const u8* x, u8* y, u32 begin, u32 end, u32 columns, u32 lanes) {
  const u32 groups = (columns + 31) >> 5;
  const u64 quad = quadBytes(CODES, WORDS, groups);
  const u32 blockGroups = hasSubScales(WORDS) ? SUPER_GROUPS : groups;
  const u64 step = (u64)RECORD_BYTES * lanes;
  const Tables tables(packed);
  for (u32 r = begin; r < end; r += STRIP_ROWS) {
    const u32 rows = end - r < STRIP_ROWS ? end - r : STRIP_ROWS;
    const Strip strip(packed, quad, r, rows);
    QuadsAhead ahead(strip, quad, r + STRIP_ROWS >= end);
    Floats sum = noFloats();
    u64 at = 0;
    const u8* record = x;
    for (u32 block = 0; block < groups; block += blockGroups) {
      SuperScales above;
      SuperSums sums;
      if (hasSubScales(WORDS)) {
        above = superScalesOf<WORDS>(strip, at, tables);
        at += superBytes(WORDS);
        ahead.fetch(superBytes(WORDS));
      }
      for (u32 g = 0; g < blockGroups; g++) {
        ahead.fetch(groupBytes(CODES, WORDS));
        Ints first;
        Ints second;
        groupSums<CODES, WORDS>(strip, at, record, tables, first, second);
        ScalesOf<WORDS> scales;
        loadScales<CODES, WORDS>(strip, at + codeBytes(CODES), tables, scales);
        addGroup<CODES, WORDS>(first, second, record, scales, sum, sums);
        at += groupBytes(CODES, WORDS);
        record += step;
      }
      if (hasSubScales(WORDS)) sum = add(sum, sums.template product<CODES>(record - step, above));
    }
    storeSomeFloats(y + 4 * (u64)r, sum, rows);
  }
}

/** Groups of a strip that are unpacked at a time, a multiple of eight: those of `STRIPS_TOGETHER` strips stay in the first-level cache. */
constexpr u32 PANEL_GROUPS = 16;

/** A strip's group unpacked: the weights of all rows, four columns a vector, and their scales. */
template <Words WORDS>
struct PanelGroup {
  Bytes weights[8];
  ScalesOf<WORDS> scales;
};

/** A strip's groups unpacked. */
template <Words WORDS>
struct Panel {
  PanelGroup<WORDS> groups[PANEL_GROUPS];
  SuperScales above[hasSubScales(WORDS) ? PANEL_GROUPS / SUPER_GROUPS : 1];
};

/** A strip's group: the weights of all rows, four columns a vector. */
template <Codes CODES>
INLINE void unpackWeights(const Strip& strip, u64 at, const Tables& tables, Bytes (&weights)[8]) {
  if (hasNibbles(CODES)) {
    for (int v = 0; v < 4; v++) {
      Bytes low;
      Bytes high;
      splitStripCodes<CODES>(strip, at, v, low, high);
      weights[nibbleWord(v)] = weightsOf<CODES>(low, tables);
      weights[nibbleWord(v) + 2] = weightsOf<CODES>(high, tables);
    }
  } else {
    for (int v = 0; v < 8; v++) weights[v] = weightsOf<CODES>(loadLanes(strip.at(at + 16 * v).places), tables);
  }
}

/** What panels hold, out of weights. Tiles multiply signed weights: nothing has to be taken off the sums of centered ones. */
template <Codes CODES, bool TILED>
INLINE Bytes panelWeights(Bytes weights) {
#if defined(__AMX_INT8__)
  if (TILED && CODES == LIFTED) return aboveEight(weights);
  if (TILED && isEightBit(CODES)) return flipSigns(weights);
#endif
  return weights;
}

/** Fills a panel with groups that lie at an offset in each quad, and brings those that follow. */
template <Codes CODES, Words WORDS, bool TILED>
INLINE void unpack(const Strip& strip, u64 at, u32 groups, const Tables& tables, NextPanel following, Panel<WORDS>& into) {
  PanelGroup<WORDS>* panel = into.groups;
  for (u32 g = 0; g < groups; g++) {
    if (hasSubScales(WORDS) && g % SUPER_GROUPS == 0) {
      into.above[g / SUPER_GROUPS] = superScalesOf<WORDS>(strip, at, tables);
      at += superBytes(WORDS);
      following.fetch(superBytes(WORDS));
    }
    following.fetch(groupBytes(CODES, WORDS));
    unpackWeights<CODES>(strip, at, tables, panel->weights);
    for (int v = 0; v < 8; v++) panel->weights[v] = panelWeights<CODES, TILED>(panel->weights[v]);
#if defined(__ARM_FEATURE_MATMUL_INT8)
    pairRows(panel->weights);
#endif
    loadScales<CODES, WORDS>(strip, at + codeBytes(CODES), tables, panel->scales);
    at += groupBytes(CODES, WORDS);
    panel++;
  }
}

/** A group's sums for a tile of activations: of its halves, or of both in `first`. */
template <u32 STRIPS>
struct TileSums {
  Ints first[STRIPS][ROWS_TOGETHER];
  Ints second[STRIPS][ROWS_TOGETHER];
};

/** The sums of a group of `STRIPS` panels; each word of activations serves all of them. */
template <Codes CODES, Words WORDS, u32 STRIPS>
INLINE void sumTile(const Panel<WORDS> (&panels)[STRIPS], u32 g, const u8* x, TileSums<STRIPS>& sums) {
  constexpr bool split = splitsGroups(WORDS);
#if defined(__ARM_FEATURE_MATMUL_INT8)
  constexpr u32 pairs = ROWS_TOGETHER / 2;
  Ints first[STRIPS][2][pairs];
  Ints second[STRIPS][2][pairs];
  for (u32 s = 0; s < STRIPS; s++) {
    for (u32 i = 0; i < 2 * pairs; i++) first[s][i % 2][i / 2] = second[s][i % 2][i / 2] = splatInts(0);
  }
  for (int v = 0; v < 8; v += 2) {
    for (u32 p = 0; p < pairs; p++) {
      const u8* bytes = x + 2 * p * RECORD_BYTES + 4 * v;
      const Bytes both = loadPair(bytes, bytes + RECORD_BYTES);
      for (u32 s = 0; s < STRIPS; s++) {
        for (int half = 0; half < 2; half++) {
          Ints& part = split && v >= 4 ? second[s][half][p] : first[s][half][p];
          part = multiplyPairs(part, panels[s].groups[g].weights[v + half], both);
        }
      }
    }
  }
  for (u32 s = 0; s < STRIPS; s++) {
    for (u32 p = 0; p < pairs; p++) {
      sums.first[s][2 * p] = ofFirst(first[s][0][p], first[s][1][p]);
      sums.first[s][2 * p + 1] = ofSecond(first[s][0][p], first[s][1][p]);
      sums.second[s][2 * p] = ofFirst(second[s][0][p], second[s][1][p]);
      sums.second[s][2 * p + 1] = ofSecond(second[s][0][p], second[s][1][p]);
    }
  }
#else
  using D = Dot<bitsOf(CODES)>;
  typename D::Partial first[STRIPS][ROWS_TOGETHER];
  typename D::Partial second[STRIPS][ROWS_TOGETHER];
  for (u32 s = 0; s < STRIPS; s++) {
    for (u32 t = 0; t < ROWS_TOGETHER; t++) first[s][t] = second[s][t] = D::none();
  }
  for (int v = 0; v < 8; v++) {
    for (u32 t = 0; t < ROWS_TOGETHER; t++) {
      const Bytes word = splatWord(x + RECORD_BYTES * t + 4 * v);
      for (u32 s = 0; s < STRIPS; s++) {
        typename D::Partial& part = split && v >= 4 ? second[s][t] : first[s][t];
        part = D::add(part, panels[s].groups[g].weights[v], word);
      }
    }
  }
  for (u32 s = 0; s < STRIPS; s++) {
    for (u32 t = 0; t < ROWS_TOGETHER; t++) {
      sums.first[s][t] = D::sums(first[s][t]);
      sums.second[s][t] = D::sums(second[s][t]);
    }
  }
#endif
}

/** Adds what the panels of `STRIPS` strips make of a tile of activations to its outputs. */
template <Codes CODES, Words WORDS, u32 STRIPS>
INLINE void passTile(const Panel<WORDS> (&panels)[STRIPS], u32 groups, const u8* x, Floats (&totals)[STRIPS][ROWS_TOGETHER]) {
  const u32 blockGroups = hasSubScales(WORDS) ? SUPER_GROUPS : groups;
  for (u32 block = 0; block < groups; block += blockGroups) {
    SuperSums supers[STRIPS][ROWS_TOGETHER];
    for (u32 g = block; g < block + blockGroups; g++, x += TILE_STEP) {
      TileSums<STRIPS> sums;
      sumTile<CODES, WORDS, STRIPS>(panels, g, x, sums);
      for (u32 t = 0; t < ROWS_TOGETHER; t++) {
        const u8* record = x + RECORD_BYTES * t;
        for (u32 s = 0; s < STRIPS; s++) {
          const Ints whole = lowered<CODES, WORDS>(sums.first[s][t], record);
          addGroup<CODES, WORDS>(whole, sums.second[s][t], record, panels[s].groups[g].scales, totals[s][t], supers[s][t]);
        }
      }
    }
    if (!hasSubScales(WORDS)) continue;
    for (u32 t = 0; t < ROWS_TOGETHER; t++) {
      const u8* record = x - TILE_STEP + RECORD_BYTES * t;
      for (u32 s = 0; s < STRIPS; s++) {
        const SuperScales& above = panels[s].above[block / SUPER_GROUPS];
        totals[s][t] = add(totals[s][t], supers[s][t].template product<CODES>(record, above));
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

  __attribute__((always_inline)) u32 groups() const { return (columns + 31) >> 5; }
  /** The record of a token's group. */
  __attribute__((always_inline)) const u8* record(u32 token, u32 group) const {
    const u64 tile = (u64)(token / TILE_ROWS) * groups() + group;
    return x + tile * TILE_STEP + token % TILE_ROWS * RECORD_BYTES;
  }
  __attribute__((always_inline)) u8* output(u32 token, u32 row) const { return y + 4 * ((u64)stride * token + row); }
};

/** Tokens whose records of a panel's groups stay in the second-level cache while all strips pass over them: whole tiles. */
constexpr u32 SLAB_TOKENS = 512;

/**
 * Strips whose outputs are added up beside one another: rows of outputs themselves are often a power of two apart, and caches hold only
 * a few of such places.
 */
constexpr u32 BLOCK_STRIPS = 64 / STRIP_ROWS;
using Totals = Floats[BLOCK_STRIPS][SLAB_TOKENS];

/** Some tokens, and rows of weights that are computed together. */
struct Block {
  u32 token, tokens;
  u32 row, rows;

  __attribute__((always_inline)) u32 strips() const { return (rows + STRIP_ROWS - 1) / STRIP_ROWS; }
  /** Rows of a strip. */
  __attribute__((always_inline)) u32 rowsOf(u32 strip) const {
    const u32 left = rows - strip * STRIP_ROWS;
    return left < STRIP_ROWS ? left : STRIP_ROWS;
  }
  __attribute__((always_inline)) Strip strip(const ManyRows& of, u64 quad, u32 index) const {
    return Strip(of.packed, quad, row + index * STRIP_ROWS, rowsOf(index));
  }
  __attribute__((always_inline)) void store(const ManyRows& of, const Totals& totals) const {
    for (u32 s = 0; s < strips(); s++) {
      for (u32 t = 0; t < tokens; t++) storeSomeFloats(of.output(token + t, row + s * STRIP_ROWS), totals[s][t], rowsOf(s));
    }
  }
};

/** A part of a block: groups that lie at an offset in each quad. */
struct Pass {
  u32 group, groups;
  u64 at;
};

#if defined(__AMX_INT8__)
#include "tiled-products.h"
#include "tiled-super-blocks.h"
#endif

/** Adds a pass to the outputs of `STRIPS` strips of a block from `strip` on. The groups at `next` follow. */
template <Codes CODES, Words WORDS, u32 STRIPS, bool TILED>
INLINE void passStrips(
    const ManyRows& of, const Tables& tables, const Block& block, const Pass& pass, u32 strip, const u8* next, Totals& totals) {
  const u64 quad = quadBytes(CODES, WORDS, of.groups());
  Panel<WORDS> panels[STRIPS];
  for (u32 s = 0; s < STRIPS; s++) {
    const NextPanel following(next + s * LANES * quad, quad);
    unpack<CODES, WORDS, TILED>(block.strip(of, quad, strip + s), pass.at, pass.groups, tables, following, panels[s]);
  }
#if defined(__AMX_INT8__)
  if constexpr (TILED) {
    tileStrip<CODES, WORDS>(of, panels[0].groups, block, pass, totals[strip]);
    return;
  }
#endif
  for (u32 token = 0; token < block.tokens; token += ROWS_TOGETHER) {
    Floats sums[STRIPS][ROWS_TOGETHER];
    for (u32 s = 0; s < STRIPS; s++) {
      for (u32 t = 0; t < ROWS_TOGETHER; t++) sums[s][t] = pass.group == 0 ? noFloats() : totals[strip + s][token + t];
    }
    passTile<CODES, WORDS, STRIPS>(panels, pass.groups, of.record(block.token + token, pass.group), sums);
    for (u32 s = 0; s < STRIPS; s++) {
      for (u32 t = 0; t < ROWS_TOGETHER; t++) totals[strip + s][token + t] = sums[s][t];
    }
  }
}

/** Computes the outputs of a block. */
template <Codes CODES, Words WORDS, bool TILED>
INLINE void matMatBlock(const ManyRows& of, const Tables& tables, const Block& block) {
  const u32 groups = of.groups();
  const u64 quad = quadBytes(CODES, WORDS, groups);
  const u32 strips = block.strips();
  constexpr u32 most = TILED ? 1 : STRIPS_TOGETHER;
  Totals totals;
  for (Pass pass = {}; pass.group < groups; pass.group += PANEL_GROUPS) {
    pass.groups = groups - pass.group < PANEL_GROUPS ? groups - pass.group : PANEL_GROUPS;
    const u64 behind = pass.at + quadBytes(CODES, WORDS, pass.groups);
    for (u32 s = 0; s < strips;) {
      const u32 together = s + most <= strips ? most : 1;
      const bool last = s + together >= strips;
      const u8* next = block.strip(of, quad, last ? 0 : s + together).quads[0] + (last ? behind : pass.at);
      if (together > 1) passStrips<CODES, WORDS, most, TILED>(of, tables, block, pass, s, next, totals);
      else passStrips<CODES, WORDS, 1, TILED>(of, tables, block, pass, s, next, totals);
      s += together;
    }
    pass.at = behind;
  }
  block.store(of, totals);
}

/** The blocks of rows `begin` to `end` for all tokens. */
template <typename Compute>
INLINE void forEachBlock(const ManyRows& of, u32 begin, u32 end, Compute compute) {
  constexpr u32 most = BLOCK_STRIPS * STRIP_ROWS;
  for (u32 token = 0; token < of.tokens; token += SLAB_TOKENS) {
    const u32 tokens = of.tokens - token < SLAB_TOKENS ? of.tokens - token : SLAB_TOKENS;
    for (u32 row = begin; row < end; row += most) compute(Block{token, tokens, row, end - row < most ? end - row : most});
  }
}

template <Codes CODES, Words WORDS>
INLINE void matMat(const ManyRows& of, u32 begin, u32 end) {
  const Tables tables(of.packed);
#if defined(__AMX_INT8__)
  if (of.tokens > ROWS_TOGETHER) {
    shapeTiles(WORDS == FLOAT_16 ? 16 : 32);
    forEachBlock(of, begin, end, [&](const Block& block) __attribute__((always_inline)) {
      if constexpr (hasSubScales(WORDS)) multiplySuperBlocks<CODES, WORDS>(of, tables, block);
      else matMatBlock<CODES, WORDS, true>(of, tables, block);
    });
    releaseTiles();
    return;
  }
#endif
  forEachBlock(of, begin, end, [&](const Block& block) __attribute__((always_inline)) {
    matMatBlock<CODES, WORDS, false>(of, tables, block);
  });
}

/**
 * The kernels of a layout, as `MatVecKernel` and `MatMatKernel` of `../../kernel-exports.ts` describe them, behind the addresses of
 * WebAssembly's 0 in the memory of the activations and in that of the matrix, which may be another one; they need no scratch.
 */
#define PRODUCTS(name, CODES, WORDS)                                                                                      \
  KERNEL void matvec_##name(                                                                                              \
      u8* base, const u8* matrices, u32 packed, u32 x, u32 y, u32 begin, u32 end, u32 columns, u32 lanes, u32) {          \
    u8* out = rowZero(base, y, begin);                                                                                    \
    matVec<CODES, WORDS>(matrices + packed, base + x, out, begin, end, columns, lanes);                                   \
  }                                                                                                                       \
  KERNEL void matmat_##name(                                                                                              \
      u8* base, const u8* matrices, u32 packed, u32 x, u32 y, u32 begin, u32 end, u32 columns, u32 tokens, u32 stride,    \
      u32) {                                                                                                              \
    u8* out = rowZero(base, y, begin);                                                                                    \
    matMat<CODES, WORDS>({matrices + packed, base + x, out, columns, tokens, stride}, begin, end);                        \
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
PRODUCTS(five_half, FIVE, HALF)
PRODUCTS(five_half_offset, FIVE, HALF_OFFSET)
PRODUCTS(five_half_sub, FIVE, HALF_SUB)
PRODUCTS(six_half_sub16, SIX, HALF_SUB_16)
PRODUCTS(small_half_sub, SMALL, HALF_SUB)
PRODUCTS(small_half_sub16, SMALL, HALF_SUB_16)
PRODUCTS(small_half_sub16_offset, SMALL, HALF_SUB_16_OFFSET)

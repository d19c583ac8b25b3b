/**
 * Products of super-blocks with many rows of activations by tiles of bytes, part of `products.cc`. Weights are multiplied by their
 * sub-scales before, as whole numbers of two digits of a byte: what the tiles' unit adds up over all groups of a super-block is the
 * whole number that the super-block's scale is multiplied by, without vectors that scale the sums of each group.
 *
 * The tiles' unit, vectors that scale what it has added up before, and those that unpack the strip behind have something to do at any
 * time: they take turns after each group, since the processor does not look far enough ahead to find that by itself.
 */
#pragma once

/** Of the digits of a weight times its sub-scale, the lower is an unsigned byte, and the upper, signed, counts this power of two. */
template <Codes CODES>
constexpr int DIGIT_SHIFT = CODES == SMALL ? 4 : 7;

constexpr u32 DIGITS = 2;

/** The digits of a strip's super-block: of each group, four columns a vector. */
using SuperDigits = Bytes[SUPER_GROUPS][DIGITS][8];

/** What its sums are scaled with. */
struct SuperFactors {
  Pairs offsets[SUPER_GROUPS];
  SuperScales above;
};

/** Tiles of tokens that are multiplied together, and their sums. */
constexpr u32 TILES_OF_TOKENS = TILES_TOGETHER / DIGITS;
using SumsOfSuper = SumsOfTile[TILES_OF_TOKENS][DIGITS];

/** Tokens of a turn, and of them those that are scaled after each group. */
constexpr u32 TURN_TOKENS = TILES_OF_TOKENS * TILE_TOKENS;
constexpr u32 STEP_TOKENS = TURN_TOKENS / SUPER_GROUPS;

/** Digits of nibbles: a byte holds their product with a factor up to 15, so that multiplications of 16 bits have two of them at a time. */
INLINE void nibbleDigits(Bytes weights, Pairs lowFactors, Pairs highFactors, Bytes& low, Bytes& high) {
  low = _mm512_mullo_epi16(weights, lowFactors);
  high = _mm512_sub_epi8(_mm512_mullo_epi16(weights, highFactors), _mm512_slli_epi16(weights, 3));
}

/** Digits of larger weights, out of products in 16 bits. */
INLINE void byteDigits(Bytes even, Bytes odd, Pairs factors, Bytes& low, Bytes& high) {
  constexpr __mmask64 ODD = 0xaaaaaaaaaaaaaaaa;
  const __m512i evenProducts = _mm512_mullo_epi16(even, factors);
  const __m512i oddProducts = _mm512_mullo_epi16(odd, factors);
  const __m512i both = _mm512_mask_blend_epi8(ODD, evenProducts, _mm512_slli_epi16(oddProducts, 8));
  low = _mm512_and_si512(both, _mm512_set1_epi8(127));
  high = _mm512_mask_blend_epi8(
      ODD, _mm512_srai_epi16(evenProducts, 7), _mm512_slli_epi16(_mm512_srai_epi16(oddProducts, 7), 8));
}

/** Half a group's digits, with the sub-scale of each row. */
template <Codes CODES>
INLINE void digitsOf(const Bytes* weights, Ints subScale, Bytes* low, Bytes* high) {
  if (CODES == SMALL) {
    const Ints lowFactor = _mm512_and_si512(subScale, splatInts(15));
    // No longer negative: eight times the weight is taken off its product.
    const Ints highFactor = addInts(_mm512_srai_epi32(subScale, 4), splatInts(8));
    const Pairs lowFactors = pairsOf(lowFactor, lowFactor);
    const Pairs highFactors = pairsOf(highFactor, highFactor);
    for (int v = 0; v < 4; v++) nibbleDigits(weights[v], lowFactors, highFactors, low[v], high[v]);
    return;
  }
  const Pairs factors = pairsOf(subScale, subScale);
  for (int v = 0; v < 4; v++) {
    const Bytes w = isEightBit(CODES) ? flipSigns(weights[v]) : weights[v];
    const Bytes even = _mm512_srai_epi16(_mm512_slli_epi16(w, 8), 8);
    byteDigits(even, _mm512_srai_epi16(w, 8), factors, low[v], high[v]);
  }
}

/** Unpacks a super-block group by group, and brings the one that follows. */
template <Codes CODES, Words WORDS>
class SuperUnpacker {
  Strip strip;
  u64 at;
  const Tables& tables;
  NextPanel following;
  SuperDigits& digits;
  SuperFactors& factors;
  u32 group = 0;

 public:
  __attribute__((always_inline)) SuperUnpacker(
      const Strip& strip, u64 at, const Tables& tables, NextPanel following, SuperDigits& digits, SuperFactors& factors)
      : strip(strip), at(at + superBytes(WORDS)), tables(tables), following(following), digits(digits), factors(factors) {
    factors.above = superScalesOf<WORDS>(strip, at, tables);
    this->following.fetch(superBytes(WORDS));
  }
  __attribute__((always_inline)) bool done() const { return group == SUPER_GROUPS; }
  __attribute__((always_inline)) void unpackGroup() {
    following.fetch(groupBytes(CODES, WORDS));
    Bytes weights[8];
    unpackWeights<CODES>(strip, at, tables, weights);
    const SubScales scales = subScalesOf<CODES, WORDS>(strip, at + codeBytes(CODES));
    Bytes(&own)[DIGITS][8] = digits[group];
    digitsOf<CODES>(weights, scales.first, own[0], own[1]);
    digitsOf<CODES>(weights + 4, splitsGroups(WORDS) ? scales.second : scales.first, own[0] + 4, own[1] + 4);
    if (!isCentered(CODES)) factors.offsets[group] = scales.offsets;
    at += groupBytes(CODES, WORDS);
    group++;
  }
};

/** Sums of a turn that have to be scaled and added to outputs, a row of `STRIP_ROWS` a token; `there` tokens are there. */
struct SuperTurn {
  const SuperFactors* factors;
  const u8* x;
  const SumsOfSuper* sums;
  Floats* totals;
  u32 there;
  bool begins;
};

/** Scales the sums of some tokens of a turn, whose tiles' records are so far apart. */
template <Codes CODES>
INLINE void scaleTokens(const SuperTurn& of, u64 tileBytes, u32 first) {
  for (u32 i = 0; i < STEP_TOKENS; i++) {
    const u32 token = first + i;
    if (token >= of.there) return;
    const u32 row = token % TILE_TOKENS;
    const SumsOfTile(&digits)[DIGITS] = (*of.sums)[token / TILE_TOKENS];
    const u8* x = of.x + token / TILE_TOKENS * tileBytes + RECORD_BYTES * row;
    const Ints upper = _mm512_slli_epi32(loadBytes((const u8*)digits[1][row]), DIGIT_SHIFT<CODES>);
    SuperSums sums;
    sums.scaled = addInts(loadBytes((const u8*)digits[0][row]), upper);
    if (!isCentered(CODES)) {
      for (u32 g = 0; g < SUPER_GROUPS; g++) {
        sums.shifted = addPaired(sums.shifted, of.factors->offsets[g], x + (u64)TILE_STEP * g + X_SUMS);
      }
    }
    const Floats product = sums.template product<CODES>(x, of.factors->above);
    of.totals[token] = add(of.begins ? noFloats() : of.totals[token], product);
  }
}

/** Computes the outputs of a block. */
template <Codes CODES, Words WORDS>
INLINE void multiplySuperBlocks(const ManyRows& of, const Tables& tables, const Block& block) {
  const u64 quad = quadBytes(CODES, WORDS, of.groups());
  const u64 tileBytes = (u64)TILE_STEP * of.groups();
  const u32 strips = block.strips();
  // All strips of a super-block come before those of the next one.
  const u32 panels = strips * (of.groups() / SUPER_GROUPS);
  const u32 turns = (block.tokens + TURN_TOKENS - 1) / TURN_TOKENS;
  const auto offsetOf = [&](u32 panel) { return quadBytes(CODES, WORDS, panel / strips * SUPER_GROUPS); };
  // A single turn leaves each group to the panel behind: so all that a thread needs stays in its half of a first-level cache.
  SuperDigits digits[2];
  const auto digitsOf = [&](u32 panel) __attribute__((always_inline)) -> SuperDigits& { return digits[turns > 1 ? panel & 1 : 0]; };
  // Factors are read one panel later than digits, while those of the panel behind are unpacked.
  SuperFactors factors[3];
  const auto unpacker = [&](u32 panel) __attribute__((always_inline)) {
    const u32 next = panel + 1 < panels ? panel + 1 : panel;
    const NextPanel following(block.strip(of, quad, next % strips).quads[0] + offsetOf(next), quad);
    const Strip strip = block.strip(of, quad, panel % strips);
    return SuperUnpacker<CODES, WORDS>(strip, offsetOf(panel), tables, following, digitsOf(panel), factors[panel % 3]);
  };
  alignas(64) SumsOfSuper sums[2];
  Totals totals;
  SuperTurn before = {};
  u32 turnsBefore = 0;
  for (SuperUnpacker<CODES, WORDS> first = unpacker(0); !first.done();) first.unpackGroup();
  for (u32 panel = 0; panel < panels; panel++) {
    const SuperDigits& own = digitsOf(panel);
    SuperUnpacker<CODES, WORDS> next = unpacker(panel + 1 < panels ? panel + 1 : panel);
    u32 untilNext = turns;
    for (u32 turn = 0; turn < turns; turn++) {
      const u32 token = turn * TURN_TOKENS;
      const u8* x = of.record(block.token + token, panel / strips * SUPER_GROUPS);
      SumsOfSuper& made = sums[turnsBefore++ & 1];
      const bool two = block.tokens - token > TILE_TOKENS;
      zeroTiles();
      for (u32 g = 0; g < SUPER_GROUPS; g++) {
        const u8* records = x + (u64)TILE_STEP * g;
        const u8* weights = (const u8*)own[g];
        if (two) addTwoTiles(weights, records, records + tileBytes, RECORD_BYTES);
        else addTile(weights, records, RECORD_BYTES);
        scaleTokens<CODES>(before, tileBytes, g * STEP_TOKENS);
        if (--untilNext > 0) continue;
        untilNext = turns;
        if (panel + 1 < panels) next.unpackGroup();
      }
      storeTiles(made[0][0], made[0][1]);
      if (two) storeOtherTiles(made[1][0], made[1][1]);
      const u32 left = block.tokens - token;
      before = {&factors[panel % 3], x, &made, totals[panel % strips] + token, left < TURN_TOKENS ? left : TURN_TOKENS, panel < strips};
    }
  }
  for (u32 first = 0; first < TURN_TOKENS; first += STEP_TOKENS) scaleTokens<CODES>(before, tileBytes, first);
  block.store(of, totals);
}

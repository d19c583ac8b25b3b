/**
 * Products of weights without sub-scales with many rows of activations by tiles of bytes, part of `products.cc`. A tile holds one group (or half a group that has scales
 * of its own) of a tile of tokens, and of a strip's rows: sums over more columns would mix scales. What the tiles' unit makes is scaled
 * and added up in the order of all other kernels.
 */
#pragma once

static_assert(TILE_TOKENS == TILE_ROWS, "tokens that stand interleaved are a tile");

/** Groups whose sums the tile registers hold at a time: halves of groups are products of their own. */
template <Words WORDS>
constexpr u32 GROUPS_TOGETHER = splitsGroups(WORDS) ? TILES_TOGETHER / 2 : TILES_TOGETHER;

/** The sums of a panel's group with a tile of tokens whose records begin at `x`, those of its halves one after the other. */
template <Words WORDS>
INLINE void multiplyGroup(u32 place, const PanelGroup<WORDS>& of, const u8* x, SumsOfTile* sums) {
  constexpr u32 parts = TILES_TOGETHER / GROUPS_TOGETHER<WORDS>;
  for (u32 i = 0; i < parts; i++) {
    multiplyTile(place * parts + i, (const u8*)&of.weights[4 * i], x + 16 * i, RECORD_BYTES, sums[i]);
  }
}

/** Scales a group's sums and adds them up. */
template <Codes CODES, Words WORDS, u32 TOKENS>
INLINE void scaleGroup(const Scales& scales, const u8* x, const SumsOfTile* sums, Floats (&totals)[TOKENS]) {
  for (u32 t = 0; t < TOKENS; t++) {
    const u8* record = x + RECORD_BYTES * t;
    const Ints first = loadBytes((const u8*)sums[0][t]);
    totals[t] = add(totals[t], splitsGroups(WORDS)
                                   ? splitProduct(first, loadBytes((const u8*)sums[1][t]), record, scales)
                                   : wholeProduct(isCentered(CODES), first, record, scales.scale, scales.firstOffset));
  }
}

/** Adds what a panel makes of the first `TOKENS` tokens of a tile whose records begin at `x` to a strip's outputs of them. */
template <Codes CODES, Words WORDS, u32 TOKENS>
INLINE void passTokens(const PanelGroup<WORDS>* panel, const Pass& pass, const u8* x, Floats* outputs) {
  constexpr u32 together = GROUPS_TOGETHER<WORDS>;
  constexpr u32 parts = TILES_TOGETHER / together;
  Floats totals[TOKENS];
  for (u32 t = 0; t < TOKENS; t++) totals[t] = pass.group == 0 ? noFloats() : outputs[t];
  // The tiles' unit is some groups ahead of the vectors that scale its sums, and each has something to do at any time.
  alignas(64) SumsOfTile sums[TILES_TOGETHER];
  const auto multiply = [&](u32 g, u32 place) __attribute__((always_inline)) {
    if (g < pass.groups) multiplyGroup<WORDS>(place, panel[g], x + (u64)TILE_STEP * g, &sums[place * parts]);
  };
  for (u32 i = 0; i < together - 1; i++) multiply(i, i);
  for (u32 g = 0; g < pass.groups; g += together) {
#pragma GCC unroll 4
    for (u32 i = 0; i < together; i++) {
      if (g + i >= pass.groups) break;
      multiply(g + i + together - 1, (i + together - 1) % together);
      scaleGroup<CODES, WORDS>(panel[g + i].scales, x + (u64)TILE_STEP * (g + i), &sums[i * parts], totals);
    }
  }
  for (u32 t = 0; t < TOKENS; t++) outputs[t] = totals[t];
}

/** Adds a pass to the outputs of a strip. */
template <Codes CODES, Words WORDS>
INLINE void tileStrip(const ManyRows& of, const PanelGroup<WORDS>* panel, const Block& block, const Pass& pass, Floats* totals) {
  constexpr u32 half = TILE_TOKENS / 2;
  for (u32 token = 0; token < block.tokens; token += TILE_TOKENS) {
    const u8* x = of.record(block.token + token, pass.group);
    if (block.tokens - token > half) passTokens<CODES, WORDS, TILE_TOKENS>(panel, pass, x, totals + token);
    else passTokens<CODES, WORDS, half>(panel, pass, x, totals + token);
  }
}

/**
 * Products of many rows of activations by tiles of bytes, part of `products.cc`. A tile holds one group (or half a group that has scales
 * of its own) of a tile of tokens, and of a strip's rows: sums over more columns would mix scales. What the tiles' unit makes is scaled
 * and added up in the order of all other kernels.
 */
#pragma once

static_assert(TILE_TOKENS == TILE_ROWS, "tokens that stand interleaved are a tile");

/** A round of sums of a panel with a tile of tokens whose records begin at `x`: of four groups, or of both halves of two. */
template <Codes CODES, Words WORDS>
INLINE void multiplyRound(const PanelGroup* panel, const u8* x, u32 group, RoundSums& sums) {
  constexpr u32 parts = splitsGroups(WORDS) ? 2 : 1;
  const u8* weights[TILES_TOGETHER];
  const u8* bytes[TILES_TOGETHER];
  for (u32 i = 0; i < TILES_TOGETHER; i++) {
    const u32 g = group + i / parts;
    weights[i] = (const u8*)&panel[g].weights[i % parts * 4];
    bytes[i] = x + (u64)TILE_STEP * g + i % parts * 16;
  }
  multiplyTiles(weights, bytes, RECORD_BYTES, sums);
}

/** Adds what a panel makes of the first `TOKENS` tokens of a tile, of which `there` are there, to the outputs of a strip. */
template <Codes CODES, Words WORDS, u32 TOKENS>
INLINE void passTokens(const ManyRows& of, const PanelGroup* panel, const Pass& pass, u32 token, u32 there, u32 r, u32 rows) {
  constexpr bool split = splitsGroups(WORDS);
  constexpr u32 parts = split ? 2 : 1;
  constexpr u32 round = TILES_TOGETHER / parts;
  const u8* x = of.record(token, pass.group);
  Floats totals[TOKENS];
  for (u32 t = 0; t < TOKENS; t++) {
    totals[t] = pass.group == 0 || t >= there ? noFloats() : loadSomeFloats(of.output(token + t, r), rows);
  }
  // The tiles' unit makes the sums of a round while those of the one before are scaled.
  alignas(64) RoundSums sums[2];
  multiplyRound<CODES, WORDS>(panel, x, 0, sums[0]);
  for (u32 g = 0; g < pass.groups; g += round) {
    const RoundSums& made = sums[g / round % 2];
    if (g + round < pass.groups) multiplyRound<CODES, WORDS>(panel, x, g + round, sums[(g / round + 1) % 2]);
    const u32 some = pass.groups - g < round ? pass.groups - g : round;
    for (u32 i = 0; i < some; i++) {
      const Scales& scales = panel[g + i].scales;
      for (u32 t = 0; t < TOKENS; t++) {
        const u8* record = x + (u64)TILE_STEP * (g + i) + RECORD_BYTES * t;
        const Ints first = addInts(loadBytes((const u8*)made[i * parts][t]), splatInts(liftOf<CODES>(record)));
        const Floats product =
            split ? splitProduct(first, loadBytes((const u8*)made[i * parts + parts - 1][t]), record, scales)
                  : wholeProduct(isCentered(CODES), first, record, scales.scale, scales.firstOffset);
        totals[t] = add(totals[t], product);
      }
    }
  }
  for (u32 t = 0; t < there; t++) storeSomeFloats(of.output(token + t, r), totals[t], rows);
}

/** Adds a pass to the outputs of a strip. */
template <Codes CODES, Words WORDS>
INLINE void tileStrip(const ManyRows& of, const PanelGroup* panel, const Pass& pass, u32 r, u32 rows) {
  constexpr u32 half = TILE_TOKENS / 2;
  for (u32 token = pass.token; token < pass.end; token += TILE_TOKENS) {
    const u32 left = pass.end - token;
    if (left > half) passTokens<CODES, WORDS, TILE_TOKENS>(of, panel, pass, token, left < TILE_TOKENS ? left : TILE_TOKENS, r, rows);
    else passTokens<CODES, WORDS, half>(of, panel, pass, token, left, r, rows);
  }
}

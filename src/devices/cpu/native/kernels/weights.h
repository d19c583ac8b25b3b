/** The weights' layout, as `../../kernels/layout.ts` describes it. */
#pragma once
#include "strips.h"

constexpr u32 HEADER_LOW = 16;
constexpr u32 HEADER_BIAS = 32;

enum Codes { SMALL, LIFTED, LARGE, WIDE, MEDIUM, SIGNED, FIVE, SIX };
enum Words { HALF, HALF_OFFSET, FLOAT, FLOAT_16, SUB, SUB_16, SUB_16_OFFSET, HALF_SUB, HALF_SUB_16, HALF_SUB_16_OFFSET };

/** Bits of a code above its nibble, which stand behind the nibbles of its group. */
constexpr int upperBits(Codes codes) { return codes == FIVE ? 1 : codes == SIX ? 2 : 0; }
constexpr bool hasNibbles(Codes codes) { return codes <= WIDE || upperBits(codes) > 0; }
constexpr bool isEightBit(Codes codes) { return codes == WIDE || codes == SIGNED; }
constexpr bool isCentered(Codes codes) { return codes == LIFTED || isEightBit(codes); }
/** Bits of a weight as it is multiplied: those below 128 count as 7. */
constexpr int bitsOf(Codes codes) { return isEightBit(codes) ? 8 : codes <= LIFTED ? 4 : 7; }
/** Bytes of a group's nibbles; upper bits are behind them. */
constexpr u32 NIBBLE_BYTES = 64;
constexpr u32 codeBytes(Codes codes) { return hasNibbles(codes) ? NIBBLE_BYTES + 16 * upperBits(codes) : 128; }
/** Scale words without regard to what is before eight groups. */
constexpr Words groupWords(Words words) { return words >= HALF_SUB ? (Words)(words - HALF_SUB + SUB) : words; }
constexpr u32 wordBytes(Words words) {
  const Words of = groupWords(words);
  return of == HALF || of == SUB || of == SUB_16 ? 8 : of == FLOAT_16 ? 32 : 16;
}
constexpr bool hasSubScales(Words words) { return words >= SUB; }
/** Bytes before eight groups. */
constexpr u32 superBytes(Words words) {
  return !hasSubScales(words) ? 0 : words < HALF_SUB ? 32 : words == HALF_SUB_16 ? 8 : 16;
}
constexpr bool splitsGroups(Words words) {
  const Words of = groupWords(words);
  return of == FLOAT_16 || of == SUB_16 || of == SUB_16_OFFSET;
}
constexpr u32 groupBytes(Codes codes, Words words) { return codeBytes(codes) + wordBytes(words); }
constexpr u64 quadBytes(Codes codes, Words words, u32 groups) {
  return (u64)groupBytes(codes, words) * groups + superBytes(words) * (groups >> 3);
}

/** Which four columns the low nibbles of a group's vector hold; the high ones hold the columns two words on. */
constexpr int nibbleWord(int vector) { return 4 * (vector >> 1) + (vector & 1); }

/**
 * A quad's vector of codes in nibbles, the low ones and the high ones; `group` is where the group begins. Of upper bits, b a code,
 * those of vector v begin at bit v / b * b of vector v % b: a shift of each lane brings them to where they are added.
 */
template <Codes CODES>
INLINE void splitCodes(const u8* group, int vector, Bytes& low, Bytes& high) {
  const Bytes codes = loadBytes(group + 16 * LANES * vector);
  low = lowNibbles(codes);
  high = highNibbles(codes);
  if constexpr (upperBits(CODES) > 0) {
    constexpr int bits = upperBits(CODES);
    const u8* at = group + NIBBLE_BYTES + 16 * (vector * LANES % bits);
    const Bytes upper = repeatLanes<(bits < LANES ? bits : LANES)>(at);
    addUpperBits<bits>(shiftLanes(upper, [=](int l) { return (vector * LANES + l) / bits * bits; }), low, high);
  }
}

/** The same of all quads of a strip, a lane of each, whose groups begin at an offset. */
template <Codes CODES>
INLINE void splitStripCodes(const Strip& strip, u64 group, int vector, Bytes& low, Bytes& high) {
  const Bytes codes = loadLanes(strip.at(group + 16 * vector).places);
  low = lowNibbles(codes);
  high = highNibbles(codes);
  if constexpr (upperBits(CODES) > 0) {
    constexpr int bits = upperBits(CODES);
    const Bytes upper = loadLanes(strip.at(group + NIBBLE_BYTES + 16 * (vector % bits)).places);
    addUpperBits<bits>(shiftLanes(upper, [=](int) { return vector / bits * bits; }), low, high);
  }
}

/** A weight's header. */
struct Tables {
  Bytes high;
  Bytes low;
  Floats bias;

  __attribute__((always_inline)) explicit Tables(const u8* packed)
      : high(splatBytes(packed)), low(splatBytes(packed + HEADER_LOW)), bias(splatFloat(packed + HEADER_BIAS)) {}
};

/** Pairs of columns of four rows as four columns of each. */
alignas(16) constexpr u8 PAIRS_AS_QUADS[16] = {0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15};

/** What `Dot` multiplies, out of codes: nibbles, or a vector of bytes. */
template <Codes CODES>
INLINE Bytes weightsOf(Bytes codes, const Tables& tables) {
  if (CODES == LARGE) return lookUp(tables.high, codes);
  if (CODES == WIDE) {
    const Bytes lifted = joinNibbles(lookUp(tables.high, codes), lookUp(tables.low, codes));
    return EIGHT_BITS_LIFTED ? lifted : flipSigns(lifted);
  }
  if (CODES == SIGNED) {
    const Bytes ordered = shuffleLanes(codes, PAIRS_AS_QUADS);
    return EIGHT_BITS_LIFTED ? flipSigns(ordered) : ordered;
  }
  return codes;
}

/** Groups of a super-block, which have sub-scales. */
constexpr u32 SUPER_GROUPS = 8;

/** A group's scales and offsets; `second...` of its second half, where that has its own: then `firstOffset` is the difference to it. */
struct Scales {
  Floats scale;
  Floats firstOffset;
  Floats secondScale;
  Floats secondOffset;
};

template <Codes CODES, Words WORDS>
INLINE Scales scalesOf(const Strip& strip, u64 at, const Tables& tables) {
  Scales s;
  if (WORDS == HALF || WORDS == HALF_OFFSET) s.scale = loadLaneHalves(strip.at(at).places);
  else s.scale = loadLaneFloats(strip.at(at).places);
  if (isCentered(CODES)) return s;
  if (WORDS == HALF_OFFSET) s.firstOffset = loadLaneHalves(strip.at(at + 8).places);
  else s.firstOffset = mul(s.scale, tables.bias);
  if (!splitsGroups(WORDS)) return s;
  s.secondScale = loadLaneFloats(strip.at(at + 16).places);
  s.secondOffset = mul(s.secondScale, tables.bias);
  s.firstOffset = sub(s.firstOffset, s.secondOffset);
  return s;
}

/** The scales and offsets before sub-scales of eight groups. */
struct SuperScales {
  Floats scale = noFloats();
  Floats offset = noFloats();
};

template <Words WORDS>
INLINE SuperScales superScalesOf(const Strip& strip, u64 at, const Tables& tables) {
  if (WORDS < HALF_SUB) return {loadLaneFloats(strip.at(at).places), loadLaneFloats(strip.at(at + 16).places)};
  const Floats scale = loadLaneHalves(strip.at(at).places);
  if (WORDS == HALF_SUB_16) return {scale, mul(scale, tables.bias)};
  return {scale, loadLaneHalves(strip.at(at + 8).places)};
}

/** A group's sub-scales, or its halves', and what the sums of the halves' activations are multiplied by. */
struct SubScales {
  Ints first;
  Ints second;
  Pairs offsets;
};

template <Codes CODES, Words WORDS>
INLINE SubScales subScalesOf(const Strip& strip, u64 at) {
  constexpr Words OF = groupWords(WORDS);
  SubScales s;
  s.first = loadLaneBytes(strip.at(at).places);
  if (splitsGroups(OF)) s.second = loadLaneBytes(strip.at(at + 4).places);
  if (isCentered(CODES)) return s;
  if (OF == SUB) {
    const Ints offset = loadLaneBytes(strip.at(at + 4).places);
    s.offsets = pairsOf(offset, offset);
  } else if (OF == SUB_16_OFFSET) {
    s.offsets = pairsOf(loadLaneBytes(strip.at(at + 8).places), loadLaneBytes(strip.at(at + 12).places));
  } else {
    s.offsets = pairsOf(s.first, s.second);
  }
  return s;
}

/** What a kind of scale words says of a group. */
template <bool HAS_SUB_SCALES>
struct GroupScales {
  using Type = Scales;
};
template <>
struct GroupScales<true> {
  using Type = SubScales;
};
template <Words WORDS>
using ScalesOf = typename GroupScales<hasSubScales(WORDS)>::Type;

template <Codes CODES, Words WORDS>
INLINE void loadScales(const Strip& strip, u64 at, const Tables& tables, Scales& scales) {
  scales = scalesOf<CODES, WORDS>(strip, at, tables);
}
template <Codes CODES, Words WORDS>
INLINE void loadScales(const Strip& strip, u64 at, const Tables&, SubScales& scales) {
  scales = subScalesOf<CODES, WORDS>(strip, at);
}

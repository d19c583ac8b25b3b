// The scales of a group. A weight is `scale * (quant - OFFSET)`, or with MINS `scale * quant + min`; with PER_HALF the group's
// two halves of 16 elements have scales of their own. `load` is a group's words in registers, `of` turns them into floats, `store`
// writes a group's own bits and those it shares.
#pragma once
#include "formats/numbers.h"
#include "packed/planes.h"

// Blocks of eight groups have their scale in two tiles: a wave that takes one tile after the other, with SCALES_CACHED, keeps it near.
#ifdef SCALES_CACHED
DEVICE u32 load_scale(const u32* from) { return cached_u32(from); }
DEVICE u16 load_scale(const u16* from) { return cached_u16(from); }
#else
DEVICE u32 load_scale(const u32* from) { return load_streaming(from); }
DEVICE u16 load_scale(const u16* from) { return load_streaming(from); }
#endif

/// One scale and min for elements 0 to 15, one for 16 to 31; equal where a format has no halves.
struct GroupScales {
  f32 scale[2], min[2];
};

/// A half `d` each SPAN groups, a block's: Q4_0, Q5_0, Q8_0, IQ4_NL; Q2_0 (2), Q1_0 (4), TQ1_0, TQ2_0 (8).
template <i32 SPAN>
struct HalfScales {
  static constexpr bool MINS = false, PER_HALF = false;
  struct Planes {
    u16* d;
  };
  struct Loaded {
    u16 d;
  };
  DEVICE Planes planes(PlaneCursor& cursor, i64 groups) { return {cursor.take<u16>(groups / SPAN)}; }
  DEVICE Loaded load(const Planes& planes, i64 group) { return {load_scale(planes.d + block_of<SPAN>(group))}; }
  DEVICE GroupScales of(const Loaded& loaded) {
    f32 d = half_to_float(loaded.d);
    return {{d, d}, {0, 0}};
  }
  DEVICE void store(const Planes& planes, i64 group, u32 own, u32) {
    if (begins_block<SPAN>(group)) planes.d[block_of<SPAN>(group)] = u16(own);
  }
};

/// Halves `d` and `m` each group: Q4_1, Q5_1.
struct HalfScalesAndMins {
  static constexpr bool MINS = true, PER_HALF = false;
  struct Planes {
    u32* pair;
  };
  struct Loaded {
    u32 pair;
  };
  DEVICE Planes planes(PlaneCursor& cursor, i64 groups) { return {cursor.take<u32>(groups)}; }
  DEVICE Loaded load(const Planes& planes, i64 group) { return {load_scale(planes.pair + group)}; }
  DEVICE GroupScales of(const Loaded& loaded) {
    f32 d = half_to_float(u16(loaded.pair)), m = half_to_float(u16(loaded.pair >> 16));
    return {{d, d}, {m, m}};
  }
  DEVICE void store(const Planes& planes, i64 group, u32 own, u32) { planes.pair[group] = own; }
};

/// A byte each group that stands for half of a power of two: MXFP4.
struct ExponentScales {
  static constexpr bool MINS = false, PER_HALF = false;
  struct Planes {
    u8* exponent;
  };
  struct Loaded {
    u8 exponent;
  };
  DEVICE Planes planes(PlaneCursor& cursor, i64 groups) { return {cursor.take<u8>(groups)}; }
  DEVICE Loaded load(const Planes& planes, i64 group) { return {planes.exponent[group]}; }
  DEVICE GroupScales of(const Loaded& loaded) {
    f32 d = half_power(loaded.exponent);
    return {{d, d}, {0, 0}};
  }
  DEVICE void store(const Planes& planes, i64 group, u32 own, u32) { planes.exponent[group] = u8(own); }
};

/// A byte for each half of a group, half of an E4M3 number, whose magnitude is kept: NVFP4.
struct SmallFloatScales {
  static constexpr bool MINS = false, PER_HALF = true;
  struct Planes {
    u16* pair;
  };
  struct Loaded {
    u16 pair;
  };
  DEVICE Planes planes(PlaneCursor& cursor, i64 groups) { return {cursor.take<u16>(groups)}; }
  DEVICE Loaded load(const Planes& planes, i64 group) { return {load_scale(planes.pair + group)}; }
  DEVICE GroupScales of(const Loaded& loaded) {
    u32 pair = loaded.pair;
    return {{half_e4m3_at_20((pair & 0x7f) << 20), half_e4m3_at_20((pair & 0x7f00) << 12)}, {0, 0}};
  }
  DEVICE void store(const Planes& planes, i64 group, u32 own, u32) {
    planes.pair[group] = u16(e4m3_magnitude(own & 255) | (e4m3_magnitude(own >> 8) << 8));
  }
};

/// Two bytes a group under two halves `d` and `dmin` for 8 groups: Q4_K, Q5_K (scale, min), Q2_K (a byte of both for each half).
template <bool halves>
struct ByteScalesAndMins {
  static constexpr bool MINS = true, PER_HALF = halves;
  struct Planes {
    u32* pair;
    u16* bytes;
  };
  struct Loaded {
    u32 pair;
    u16 bytes;
  };
  DEVICE Planes planes(PlaneCursor& cursor, i64 groups) {
    u32* pair = cursor.take<u32>(groups / 8);
    return {pair, cursor.take<u16>(groups)};
  }
  DEVICE Loaded load(const Planes& planes, i64 group) {
    return {load_scale(planes.pair + block_of<8>(group)), load_scale(planes.bytes + group)};
  }
  DEVICE GroupScales of(const Loaded& loaded) {
    f32 d = half_to_float(u16(loaded.pair)), dmin = half_to_float(u16(loaded.pair >> 16));
    u32 low = loaded.bytes & 255, high = loaded.bytes >> 8;
    if (halves) return {{d * f32(low & 15), d * f32(high & 15)}, {-(dmin * f32(low >> 4)), -(dmin * f32(high >> 4))}};
    f32 scale = d * f32(low), min = -(dmin * f32(high));
    return {{scale, scale}, {min, min}};
  }
  DEVICE void store(const Planes& planes, i64 group, u32 own, u32 shared) {
    if (begins_block<8>(group)) planes.pair[block_of<8>(group)] = shared;
    planes.bytes[group] = u16(own);
  }
};

/// Two signed bytes a group, one for each half, under a half `d` for 8 groups: Q3_K, Q6_K; IQ4_XS has both equal.
template <bool halves>
struct ByteScales {
  static constexpr bool MINS = false, PER_HALF = halves;
  struct Planes {
    u16 *d, *bytes;
  };
  struct Loaded {
    u16 d, bytes;
  };
  DEVICE Planes planes(PlaneCursor& cursor, i64 groups) {
    u16* d = cursor.take<u16>(groups / 8);
    return {d, cursor.take<u16>(groups)};
  }
  DEVICE Loaded load(const Planes& planes, i64 group) {
    return {load_scale(planes.d + block_of<8>(group)), load_scale(planes.bytes + group)};
  }
  DEVICE GroupScales of(const Loaded& loaded) {
    f32 d = half_to_float(loaded.d);
    return {{d * f32(i8(loaded.bytes & 255)), d * f32(i8(loaded.bytes >> 8))}, {0, 0}};
  }
  DEVICE void store(const Planes& planes, i64 group, u32 own, u32 shared) {
    if (begins_block<8>(group)) planes.d[block_of<8>(group)] = u16(shared);
    planes.bytes[group] = u16(own);
  }
};

/// A byte a group, four bits for each half that stand for an odd number, under a half `d` for 8 groups: IQ1, IQ2, IQ3. A scale is
/// `d * odd / DIVISOR`.
template <bool halves, i32 DIVISOR>
struct OddScales {
  static constexpr bool MINS = false, PER_HALF = halves;
  struct Planes {
    u16* d;
    u8* nibbles;
  };
  struct Loaded {
    u16 d;
    u8 nibbles;
  };
  DEVICE Planes planes(PlaneCursor& cursor, i64 groups) {
    u16* d = cursor.take<u16>(groups / 8);
    return {d, cursor.take<u8>(groups)};
  }
  DEVICE Loaded load(const Planes& planes, i64 group) { return {load_scale(planes.d + block_of<8>(group)), planes.nibbles[group]}; }
  DEVICE GroupScales of(const Loaded& loaded) {
    f32 d = half_to_float(loaded.d) * (1.0f / DIVISOR);
    return {{d * f32(2 * (loaded.nibbles & 15) + 1), d * f32(2 * (loaded.nibbles >> 4) + 1)}, {0, 0}};
  }
  DEVICE void store(const Planes& planes, i64 group, u32 own, u32 shared) {
    if (begins_block<8>(group)) planes.d[block_of<8>(group)] = u16(shared);
    planes.nibbles[group] = u8(own);
  }
};

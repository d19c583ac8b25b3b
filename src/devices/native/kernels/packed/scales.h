// The scales of a group. A weight is `scale * (quant - OFFSET)`, or with MINS `scale * quant + min`; with HALVES the group's
// two halves of 16 elements have scales of their own. `load` is a group's words in registers, `of` turns them into floats.
#pragma once
#include "packed/planes.h"

/// One scale and min for elements 0 to 15, one for 16 to 31; equal where a format has no halves.
struct GroupScales {
  f32 scale[2], min[2];
};

/// A half `d` each group: Q8_0, Q4_0, Q5_0, IQ4_NL.
struct HalfScales {
  static constexpr bool MINS = false, HALVES = false;
  struct Planes {
    u16* d;
  };
  struct Loaded {
    u16 d;
  };
  DEVICE Planes planes(PlaneCursor& cursor, i64 groups) { return {cursor.take<u16>(groups)}; }
  DEVICE Loaded load(const Planes& planes, i64 group) { return {load_once(planes.d + group)}; }
  DEVICE GroupScales of(const Loaded& loaded) {
    f32 d = half_to_float(loaded.d);
    return {{d, d}, {0, 0}};
  }
};

/// Halves `d` and `m` each group: Q4_1, Q5_1.
struct HalfScalesAndMins {
  static constexpr bool MINS = true, HALVES = false;
  struct Planes {
    u32* pair;
  };
  struct Loaded {
    u32 pair;
  };
  DEVICE Planes planes(PlaneCursor& cursor, i64 groups) { return {cursor.take<u32>(groups)}; }
  DEVICE Loaded load(const Planes& planes, i64 group) { return {load_once(planes.pair + group)}; }
  DEVICE GroupScales of(const Loaded& loaded) {
    f32 d = half_to_float(u16(loaded.pair)), m = half_to_float(u16(loaded.pair >> 16));
    return {{d, d}, {m, m}};
  }
};

/// Two bytes a group under two halves `d` and `dmin` for 8 groups: Q4_K, Q5_K (scale, min), Q2_K (a byte of both for each half).
template <bool halves>
struct ByteScalesAndMins {
  static constexpr bool MINS = true, HALVES = halves;
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
    return {load_once(planes.pair + (group >> 3)), load_once(planes.bytes + group)};
  }
  DEVICE GroupScales of(const Loaded& loaded) {
    f32 d = half_to_float(u16(loaded.pair)), dmin = half_to_float(u16(loaded.pair >> 16));
    u32 low = loaded.bytes & 255, high = loaded.bytes >> 8;
    if (halves) return {{d * f32(low & 15), d * f32(high & 15)}, {-(dmin * f32(low >> 4)), -(dmin * f32(high >> 4))}};
    f32 scale = d * f32(low), min = -(dmin * f32(high));
    return {{scale, scale}, {min, min}};
  }
};

/// Two signed bytes a group, one for each half, under a half `d` for 8 groups: Q3_K, Q6_K; IQ4_XS has both equal.
struct ByteScales {
  static constexpr bool MINS = false, HALVES = true;
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
    return {load_once(planes.d + (group >> 3)), load_once(planes.bytes + group)};
  }
  DEVICE GroupScales of(const Loaded& loaded) {
    f32 d = half_to_float(loaded.d);
    return {{d * f32(i8(loaded.bytes & 255)), d * f32(i8(loaded.bytes >> 8))}, {0, 0}};
  }
};

/// As `ByteScales` with one scale for both halves: IQ4_XS.
struct ByteScalesWhole : ByteScales {
  static constexpr bool HALVES = false;
};

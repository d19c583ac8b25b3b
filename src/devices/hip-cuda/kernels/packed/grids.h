// Quants that are entries of a codebook: the words of GRID, four levels each. A group's planes hold the low eight bits of its
// runs' entries, the bits above them, and a sign bit an element, or after the upper bits one a run that says whether its levels
// are one more (clear) or one less (set).
#pragma once
#include "packed/planes.h"
#include "packed/quants.h"

template <i32 WIDTH, i32 HIGH, bool SIGNS>
struct GridQuants {
  static constexpr i32 RUNS = 32 / WIDTH, WORDS = WIDTH / 4;
  static constexpr i32 HIGH_BITS = RUNS * (HIGH + (SIGNS ? 0 : 1));
  struct Planes {
    u8 *low, *high;
    u32* signs;
  };
  struct Loaded {
    u32x2 low;
    u32 high, signs;
  };
  typedef Loaded LoadedOctet;
  DEVICE Planes planes(PlaneCursor& cursor, i64 groups) {
    Planes planes = {};
    planes.low = cursor.take<u8>(groups * RUNS);
    if (HIGH_BITS > 0) planes.high = cursor.take<u8>(groups * (HIGH_BITS > 8 ? 2 : 1));
    if (SIGNS) planes.signs = cursor.take<u32>(groups);
    return planes;
  }
  DEVICE Loaded load(const Planes& planes, i64 group) {
    Loaded loaded = {};
    if (RUNS == 8) loaded.low = load_streaming(reinterpret_cast<const u32x2*>(planes.low) + group);
    if (RUNS == 4) loaded.low.x = load_streaming(reinterpret_cast<const u32*>(planes.low) + group);
    if (HIGH_BITS > 8) loaded.high = load_streaming(reinterpret_cast<const u16*>(planes.high) + group);
    if (HIGH_BITS > 0 && HIGH_BITS <= 8) loaded.high = planes.high[group];
    if (SIGNS) loaded.signs = load_streaming(planes.signs + group);
    return loaded;
  }
  DEVICE u32 quad(const Loaded& loaded, i32 q) {
    i32 run = q / WORDS;
    u32 entry = ((run < 4 ? loaded.low.x : loaded.low.y) >> (8 * (run & 3))) & 255;
    if (HIGH > 0) entry |= ((loaded.high >> (HIGH * run)) & ((1u << HIGH) - 1)) << 8;
    u32 word = GRID[entry * WORDS + q % WORDS];
    if (!SIGNS) return word + ((loaded.high >> (HIGH * RUNS + run)) & 1 ? 0u : 0x02020202u);
    // No level is zero, so that no carry leaves its byte.
    u32 minus = ((((loaded.signs >> (4 * q)) & 15) * 0x00204081u) & 0x01010101u);
    return (word ^ (minus * 255)) + minus;
  }
  DEVICE LoadedOctet load_octet(const Planes& planes, i64 group, i32) { return load(planes, group); }
  DEVICE Octet octet(const LoadedOctet& loaded, i32 t) { return {quad(loaded, t), quad(loaded, t + 4)}; }
};

/// Packs the group of a block's elements from `first` on.
template <class Format>
DEVICE void pack_runs(const typename Format::Q::Planes& planes, i64 index, const u8* block, u32 first) {
  typedef typename Format::Q Q;
  constexpr i32 RUNS = Q::RUNS, WIDTH = 32 / RUNS, HIGH = Q::HIGH_BITS / RUNS - (Format::SIGNED ? 0 : 1);
  u32 high = 0, signs = 0;
  UNROLL for (i32 run = 0; run < RUNS; run++) {
    u32 e = first + WIDTH * run, entry = Format::entry(block, e);
    planes.low[index * RUNS + run] = u8(entry);
    high |= (entry >> 8) << (HIGH * run);
    if (!Format::SIGNED) high |= Format::change(block, e) << (HIGH * RUNS + run);
  }
  if (Format::SIGNED) {
    UNROLL for (i32 i = 0; i < 4; i++) signs |= Format::change(block, first + 8 * i) << (8 * i);
    planes.signs[index] = signs;
  }
  if (Q::HIGH_BITS > 8) reinterpret_cast<u16*>(planes.high)[index] = u16(high);
  if (Q::HIGH_BITS > 0 && Q::HIGH_BITS <= 8) planes.high[index] = u8(high);
}

// Quants that are entries of a codebook. A group's planes hold the low eight bits of its runs' entries, the bits above them, and a sign
// bit an element, or after the upper bits one a run that says whether its levels are one more (set) or one less (clear). An entry is a
// word of GRID: grids-of-four.h and grids-of-eight.h say of what.
#pragma once
#include "packed/planes.h"
#include "packed/quants.h"

// Lanes look up a word each, which a cache of lines answers one line after another, and shared memory one bank after another: kernels
// that multiply copy the codebook there. With GRID_COPIED they do, and call `copy_grid` first.
#ifdef GRID_COPIED
constexpr i32 COPIED_WORDS = 2048;
/// Short codebooks are there several times, side by side, so that neighbouring lanes wait for one another less.
constexpr i32 COPIES = COPIED_WORDS / GRID_WORDS;
DEVICE u32* grid_copies() {
  SHARED u32 words[COPIED_WORDS];
  return words;
}
/// To be followed by a barrier.
DEVICE void copy_grid(i32 threads) {
  u32* to = grid_copies();
  UNROLL for (i32 first = 0; first < COPIED_WORDS; first += threads) {
    i32 i = first + i32(thread());
    if (i < COPIED_WORDS) to[i] = GRID[i / COPIES];
  }
}
DEVICE u32 grid_word(u32 entry) { return grid_copies()[entry * COPIES + (lane() & (COPIES - 1))]; }
#else
DEVICE u32 grid_word(u32 entry) { return GRID[entry]; }
#endif

/// What entries of any width have in common.
template <i32 WIDTH, i32 HIGH, bool SIGNS>
struct GridPlanes {
  static constexpr i32 RUNS = 32 / WIDTH, HIGH_BITS = RUNS * (HIGH + (SIGNS ? 0 : 1));
  struct Planes {
    u8 *low, *high;
    u32* signs;
  };
  struct Loaded {
    u32 low[RUNS / 4];
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
    if (RUNS == 8) {
      u32x2 low = load_streaming(reinterpret_cast<const u32x2*>(planes.low) + group);
      loaded.low[0] = low.x, loaded.low[RUNS / 8] = low.y;
    } else {
      loaded.low[0] = load_streaming(reinterpret_cast<const u32*>(planes.low) + group);
    }
    if (HIGH_BITS > 8) loaded.high = load_streaming(reinterpret_cast<const u16*>(planes.high) + group);
    if (HIGH_BITS > 0 && HIGH_BITS <= 8) loaded.high = planes.high[group];
    if (SIGNS) loaded.signs = load_streaming(planes.signs + group);
    return loaded;
  }
  DEVICE LoadedOctet load_octet(const Planes& planes, i64 group, i32) { return load(planes, group); }
  /// The word of the entry of a run.
  DEVICE u32 word(const Loaded& loaded, i32 run) {
    u32 entry = (loaded.low[run >> 2] >> (8 * (run & 3))) & 255;
    if (HIGH > 0) entry |= ((loaded.high >> (HIGH * run)) & ((1u << HIGH) - 1)) << 8;
    return grid_word(entry);
  }
};

/// Packs the group of a block's elements from `first` on. What a format says of the change of eight elements are their signs, or whether
/// their levels are less.
template <class Format>
DEVICE void pack_runs(const typename Format::Q::Planes& planes, i64 index, const u8* block, u32 first) {
  typedef typename Format::Q Q;
  constexpr i32 RUNS = Q::RUNS, WIDTH = 32 / RUNS, HIGH = Q::HIGH_BITS / RUNS - (Format::SIGNED ? 0 : 1);
  u32 high = 0, signs = 0;
  UNROLL for (i32 run = 0; run < RUNS; run++) {
    u32 e = first + WIDTH * run, entry = Format::entry(block, e), change = Format::change(block, e);
    planes.low[index * RUNS + run] = u8(entry);
    high |= (entry >> 8) << (HIGH * run);
    if (Format::SIGNED) signs |= Q::placed_signs(run, change);
    else high |= (change ^ 1) << (HIGH * RUNS + run);
  }
  if (Format::SIGNED) planes.signs[index] = signs;
  if (Q::HIGH_BITS > 8) reinterpret_cast<u16*>(planes.high)[index] = u16(high);
  if (Q::HIGH_BITS > 0 && Q::HIGH_BITS <= 8) planes.high[index] = u8(high);
}

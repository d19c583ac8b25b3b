/** Rows of a packed weight that are computed together: quads of four rows, one after another behind a header. */
#pragma once
#include "prelude.h"

constexpr u32 HEADER_BYTES = 64;

/** A place in each quad of a strip. */
struct Places {
  const u8* places[LANES];
};

/** Neighbouring quads. Where the weight, or the range that is asked for, has fewer, the first one stands in for the others. */
struct Strip {
  const u8* quads[LANES];

  __attribute__((always_inline)) Strip(const u8* packed, u64 quad, u32 row, u32 rows) {
    const u8* first = packed + HEADER_BYTES + (u64)(row >> 2) * quad;
    for (u32 q = 0; q < LANES; q++) quads[q] = first + (4 * q < rows ? q * quad : 0);
  }
  __attribute__((always_inline)) Places at(u64 offset) const {
    Places of;
    for (int q = 0; q < LANES; q++) of.places[q] = quads[q] + offset;
    return of;
  }
};

/**
 * The next lines of a strip's quads, and at its end those of the strip behind it, if there is one, brought into the first-level cache
 * while others are computed: processors foresee neither four neighbouring streams nor their jumps from strip to strip. Not more than
 * some kilobytes ahead: two threads of a core share such a cache, and whole strips would push out one another before their use.
 */
class QuadsAhead {
  static constexpr u64 DISTANCE = 8192 / LANES;
  const u8* first;
  u64 quad;
  u64 at;
  bool more;

 public:
  __attribute__((always_inline)) QuadsAhead(const Strip& strip, u64 quad, bool isLast)
      : first(strip.quads[0]), quad(quad), at(DISTANCE < quad ? DISTANCE : quad), more(!isLast) {
    step();
  }

  /** Asks for as many bytes of each quad as are used next. */
  __attribute__((always_inline)) void fetch(u32 bytes) {
    if (at < quad && at % 64 < bytes) {
      for (u32 q = 0; q < LANES; q++) {
        for (u32 i = 0; i < bytes; i += 64) __builtin_prefetch(first + q * quad + at + i);
      }
    }
    at += bytes;
    step();
  }

 private:
  __attribute__((always_inline)) void step() {
    if (at < quad || !more) return;
    first += LANES * quad;
    at -= quad;
    more = false;
  }
};

/**
 * Groups of the quads of a strip that are unpacked next, brought into the second-level cache meanwhile: with few rows of activations,
 * the arithmetic would wait for memory at the beginning of each panel, and memory for the arithmetic behind it.
 */
class NextPanel {
  const u8* next;
  u64 quad;

 public:
  __attribute__((always_inline)) NextPanel(const u8* first, u64 quad) : next(first), quad(quad) {}

  /** Asks for as many bytes as have just been used of each quad. */
  __attribute__((always_inline)) void fetch(u32 bytes) {
    for (u32 q = 0; q < LANES; q++) {
      for (u32 at = 0; at < bytes; at += 64) __builtin_prefetch(next + q * quad + at, 0, 2);
    }
    next += bytes;
  }
};

/** The place of row 0 among outputs that begin with another row: WebAssembly's addresses wrap around on the way there. */
INLINE u8* rowZero(u8* base, u32 y, u32 begin) { return base + (u32)(y + 4 * begin) - 4 * (u64)begin; }

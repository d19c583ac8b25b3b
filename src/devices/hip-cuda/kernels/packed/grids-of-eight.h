// Codebooks of eight levels an entry, in nibbles: each is the number of a level of LOW_LEVELS. The nibble's third bit, which is a sign or
// says that the run's levels are more, chooses HIGH_LEVELS instead: so one permutation of bytes makes four levels, signs and all.
#pragma once
#include "packed/grids.h"

template <i32 HIGH, bool SIGNS>
struct EightGridQuants : GridPlanes<8, HIGH, SIGNS> {
  typedef GridPlanes<8, HIGH, SIGNS> Base;
  typedef typename Base::Loaded Loaded;
  typedef typename Base::LoadedOctet LoadedOctet;
  /// The runs' nibbles, whose third bits are set where HIGH_LEVELS are meant.
  struct Entries {
    u32 nibbles[4];
  };
  /// Sign `k` of run `r` is bit `4 * k + r` of its word.
  DEVICE u32 nibbles(const Loaded& loaded, i32 run) {
    if (SIGNS) return Base::word(loaded, run) | ((run <= 2 ? loaded.signs << (2 - run) : loaded.signs >> 1) & 0x44444444u);
    return Base::word(loaded, run) + ((loaded.high >> (HIGH * 4 + run)) & 1) * 0x44444444u;
  }
  DEVICE Entries entries(const Loaded& loaded) {
    Entries entries;
    UNROLL for (i32 run = 0; run < 4; run++) entries.nibbles[run] = nibbles(loaded, run);
    return entries;
  }
  DEVICE u32 levels(u32 nibbles, i32 q) { return byte_permute(LOW_LEVELS, HIGH_LEVELS, q & 1 ? nibbles >> 16 : nibbles); }
  DEVICE u32 quad(const Entries& entries, i32 q) { return levels(entries.nibbles[q >> 1], q); }
  DEVICE Octet octet(const LoadedOctet& loaded, i32 t) {
    return {levels(nibbles(loaded, t >> 1), t), levels(nibbles(loaded, (t >> 1) + 2), t)};
  }
  DEVICE u32 placed_signs(u32 run, u32 signs) {
    u32 placed = 0;
    UNROLL for (i32 k = 0; k < 8; k++) placed |= ((signs >> k) & 1) << (4 * k + run);
    return placed;
  }
};

// Codebooks of four levels an entry, each a byte, none of them zero; all have signs.
#pragma once
#include "packed/grids.h"

template <i32 HIGH>
struct FourGridQuants : GridPlanes<4, HIGH, true> {
  typedef GridPlanes<4, HIGH, true> Base;
  typedef typename Base::LoadedOctet LoadedOctet;
  typedef typename Base::Loaded Entries;
  DEVICE Entries entries(const Entries& loaded) { return loaded; }
  /// Sign `i` of quad `q` is bit `8 * i + 7 - q` of the signs.
  DEVICE u32 quad(const Entries& loaded, i32 q) {
    // No level is zero, so that no carry leaves its byte.
    u32 minus = sign_bytes(loaded.signs << q);
    return (Base::word(loaded, q) ^ minus) + (minus & 0x01010101u);
  }
  DEVICE Octet octet(const LoadedOctet& loaded, i32 t) { return {quad(loaded, t), quad(loaded, t + 4)}; }
  DEVICE u32 placed_signs(u32 run, u32 signs) {
    u32 placed = 0;
    UNROLL for (i32 i = 0; i < 4; i++) placed |= ((signs >> (4 * (run & 1) + i)) & 1) << (8 * i + 7 - run);
    return placed;
  }
};

/** AVX-512 with AMX's tiles of bytes: Intel since Sapphire Rapids. */
#pragma once
#include "prelude-avx512.h"

/** A tile of a product: activations of so many tokens with the weights of a strip. */
constexpr u32 TILE_TOKENS = 16;

/** Of what `LDTILECFG` reads: rows and bytes a row of each tile register. */
struct TileShapes {
  u8 palette = 1;
  u8 startRow = 0;
  u8 reserved[14] = {};
  unsigned short rowBytes[16] = {};
  u8 rows[16] = {};
};

/** Registers 0 to 3 hold sums, 4 and 5 weights, 6 and 7 activations, of `columns` columns. */
INLINE void shapeTiles(u32 columns) {
  alignas(64) TileShapes shapes;
  for (int i = 0; i < 8; i++) {
    shapes.rowBytes[i] = (unsigned short)(i < 6 ? 64 : columns);
    shapes.rows[i] = (u8)(i == 4 || i == 5 ? columns / 4 : TILE_TOKENS);
  }
  // A compiler may not know that the instructions read memory.
  __asm__ volatile("" ::: "memory");
  _tile_loadconfig(&shapes);
}

/** Until the next `shapeTiles`, the processor keeps nothing of tiles. */
INLINE void releaseTiles() { _tile_release(); }

/** Sums that a round of multiplications makes, each of a tile of activations with a tile of weights. */
constexpr u32 TILES_TOGETHER = 4;
using RoundSums = i32[TILES_TOGETHER][TILE_TOKENS][4 * LANES];

/** Sums of products of unsigned weights, rows of 64 bytes, with signed activations, rows of `rowBytes` bytes. */
INLINE void multiplyTiles(
    const u8* const (&weights)[TILES_TOGETHER], const u8* const (&x)[TILES_TOGETHER], u64 rowBytes, RoundSums& sums) {
  __asm__ volatile("" ::: "memory");
  _tile_zero(0);
  _tile_loadd(4, weights[0], 64);
  _tile_loadd(6, x[0], rowBytes);
  _tile_dpbsud(0, 6, 4);
  _tile_zero(1);
  _tile_loadd(5, weights[1], 64);
  _tile_loadd(7, x[1], rowBytes);
  _tile_dpbsud(1, 7, 5);
  _tile_zero(2);
  _tile_loadd(4, weights[2], 64);
  _tile_loadd(6, x[2], rowBytes);
  _tile_dpbsud(2, 6, 4);
  _tile_zero(3);
  _tile_loadd(5, weights[3], 64);
  _tile_loadd(7, x[3], rowBytes);
  _tile_dpbsud(3, 7, 5);
  _tile_stored(0, sums[0], 64);
  _tile_stored(1, sums[1], 64);
  _tile_stored(2, sums[2], 64);
  _tile_stored(3, sums[3], 64);
  __asm__ volatile("" ::: "memory");
}

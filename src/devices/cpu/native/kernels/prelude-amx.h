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

/** Sums of a tile of activations with a tile of weights, a row a token. */
using SumsOfTile = i32[TILE_TOKENS][4 * LANES];

/** Products that the tile registers hold at a time. */
constexpr u32 TILES_TOGETHER = 4;

// The names of registers are part of the instructions.
#define MULTIPLY_TILE(SUMS, WEIGHTS, X)   \
  _tile_zero(SUMS);                       \
  _tile_loadd(WEIGHTS, weights, 64);      \
  _tile_loadd(X, x, rowBytes);            \
  _tile_dpbssd(SUMS, X, WEIGHTS);         \
  _tile_stored(SUMS, sums, 64)

/**
 * Sums of products of signed weights, rows of 64 bytes, with signed activations, rows of `rowBytes` bytes. Products that follow one
 * another take the next `place`, below `TILES_TOGETHER`, so that none waits for the registers of the one before it.
 */
INLINE void multiplyTile(u32 place, const u8* weights, const u8* x, u64 rowBytes, SumsOfTile& sums) {
  __asm__ volatile("" ::: "memory");
  switch (place) {
    case 0: MULTIPLY_TILE(0, 4, 6); break;
    case 1: MULTIPLY_TILE(1, 5, 7); break;
    case 2: MULTIPLY_TILE(2, 4, 6); break;
    default: MULTIPLY_TILE(3, 5, 7);
  }
  __asm__ volatile("" ::: "memory");
}
#undef MULTIPLY_TILE

/** Sums in the registers begin. */
INLINE void zeroTiles() {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
}

/** Adds the products of a tile of unsigned and a tile of signed weights behind it with a tile of activations to the first two sums. */
INLINE void addTile(const u8* weights, const u8* x, u64 rowBytes) {
  __asm__ volatile("" ::: "memory");
  _tile_loadd(6, x, rowBytes);
  _tile_loadd(4, weights, 64);
  _tile_dpbsud(0, 6, 4);
  _tile_loadd(5, weights + 512, 64);
  _tile_dpbssd(1, 6, 5);
  __asm__ volatile("" ::: "memory");
}

/** The same, and with a second tile of activations to the other two sums. */
INLINE void addTwoTiles(const u8* weights, const u8* x, const u8* second, u64 rowBytes) {
  addTile(weights, x, rowBytes);
  _tile_loadd(7, second, rowBytes);
  _tile_dpbsud(2, 7, 4);
  _tile_dpbssd(3, 7, 5);
  __asm__ volatile("" ::: "memory");
}

/** The first two sums out of the registers. */
INLINE void storeTiles(SumsOfTile& first, SumsOfTile& second) {
  _tile_stored(0, first, 64);
  _tile_stored(1, second, 64);
  __asm__ volatile("" ::: "memory");
}

/** The other two. */
INLINE void storeOtherTiles(SumsOfTile& third, SumsOfTile& fourth) {
  _tile_stored(2, third, 64);
  _tile_stored(3, fourth, 64);
  __asm__ volatile("" ::: "memory");
}

/** Nibbles as what they are above eight. */
INLINE Bytes aboveEight(Bytes nibbles) { return _mm512_sub_epi8(nibbles, _mm512_set1_epi8(8)); }

// A packed matrix is a few arrays, one after another, each from a multiple of 16 bytes on: the bits of the quants in planes
// that lanes load side by side, then the scales. A group is 32 neighbouring elements of a row. Groups are numbered in tiles of eight
// rows: of these, the first four groups row after row, then the next four, and so on. So what a wave multiplies at once, four groups of
// each of eight rows, lies side by side in every array, and caches look up as few lines as there can be. Rows and groups
// that fill up the last tiles hold anything. There are fewer than 2^32 groups.
//
// Within a group, quad q is elements 4q ... 4q + 3, one to a byte of a word, and octet t is quads t and t + 4. All planes
// keep a quad's elements in the four bytes of a word, so that one mask and shift brings out a quad.
#pragma once
#include "prelude.h"

constexpr i32 TILE_LINES = 8, TILE_GROUPS = 4, TILE_SIZE = TILE_LINES * TILE_GROUPS;

/// Tiles side by side in rows of so many groups.
DEVICE i32 tiles_across(i32 row_groups) { return (row_groups + TILE_GROUPS - 1) / TILE_GROUPS; }
/// Groups of a packed matrix, with those that fill up its tiles.
DEVICE i64 tiled_groups(i64 rows, i32 row_groups) {
  return (rows + TILE_LINES - 1) / TILE_LINES * tiles_across(row_groups) * TILE_SIZE;
}
/// The number of a row's first group, and how much larger that of its group `i` is.
DEVICE u32 row_start(u32 row, i32 row_groups) {
  return row / TILE_LINES * u32(tiles_across(row_groups) * TILE_SIZE) + row % TILE_LINES * TILE_GROUPS;
}
DEVICE u32 group_step(u32 i) { return i / TILE_GROUPS * TILE_SIZE + i % TILE_GROUPS; }

/// Blocks of SPAN groups that share a scale are in the order of the tiles, too, those of eight in that of pairs of tiles, of which
/// rows of such blocks have whole ones.
template <i32 SPAN>
DEVICE i64 block_of(i64 group) {
  if (SPAN <= TILE_GROUPS) return group / SPAN;
  return (group / (2 * TILE_SIZE) * TILE_LINES) | ((group / TILE_GROUPS) % TILE_LINES);
}
/// Whether a group is its block's first.
template <i32 SPAN>
DEVICE bool begins_block(i64 group) {
  return group % TILE_GROUPS % SPAN == 0 && (SPAN <= TILE_GROUPS || group / TILE_SIZE % 2 == 0);
}

/// Walks over the arrays of a packed matrix.
struct PlaneCursor {
  u8* at;

  template <class T>
  DEVICE_MEMBER T* take(i64 count) {
    T* plane = reinterpret_cast<T*>(at);
    at += (count * i64(sizeof(T)) + 15) & ~i64(15);
    return plane;
  }
};

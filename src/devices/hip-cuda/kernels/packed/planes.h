// A packed matrix is a few arrays, one after another, each from a multiple of 16 bytes on: the bits of the quants in planes
// that lanes load side by side, then the scales. A group is 32 neighbouring elements of a row, numbered row after row.
//
// Within a group, quad q is elements 4q ... 4q + 3, one to a byte of a word, and octet t is quads t and t + 4. All planes
// keep a quad's elements in the four bytes of a word, so that one mask and shift brings out a quad.
#pragma once
#include "prelude.h"

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

// Products of 16 x 16 elements over 32 values of k by one wave: half floats in, f32 sums, on the matrix cores where the target
// has them. Both operands lie in shared memory as lines of k: for each group of 32 values four octets of 16 bytes, octet t
// holding values 4t ... 4t + 3 and 16 + 4t ... 19 + 4t. Any order of k serves, as long as both operands have the same.
//
// Lines stand one after the other, LINE_OCTETS octets (a multiple of 8) each, their octets exchanged so that lanes which read
// or write neighbouring lines do not meet in a bank.
//
//   A Fragment is 16 lines (rows of A, or columns of B) of one group. A lane holds MATRIX_SUMS elements of the product:
//   element i is row matrix_row(i), column matrix_column(i).
#pragma once
#include "prelude.h"

#define GROUP_OCTETS 4

/// Where an octet of a line stands.
template <i32 LINE_OCTETS>
DEVICE i32 tile_place(i32 line, i32 octet) {
  return line * LINE_OCTETS + (octet ^ (((line & 1) << 2) | ((line >> 1) & 3)));
}

#if defined(GPU_NVIDIA)

#define MATRIX_LANES 32
#define MATRIX_SUMS 8
struct Fragment {
  u32x4 upper, lower;
};
struct MatrixSum {
  f32 at[MATRIX_SUMS];
};

/// Sixteen lines from `first` on, of a group of a tile.
template <i32 LINE_OCTETS>
DEVICE Fragment load_fragment(const u32x4* tile, i32 first, i32 group) {
  i32 line = first + (lane() >> 2), octet = GROUP_OCTETS * group + (lane() & 3);
  return {tile[tile_place<LINE_OCTETS>(line, octet)], tile[tile_place<LINE_OCTETS>(line + 8, octet)]};
}
// PTX ISA, "Matrix fragments for mma.m16n8k16": a lane has pairs of k of rows lane / 4 and lane / 4 + 8, and of one column.
DEVICE void multiply_eight(f32* sum, u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
DEVICE void multiply(MatrixSum& sum, const Fragment& a, const Fragment& b) {
  multiply_eight(sum.at, a.upper.x, a.lower.x, a.upper.y, a.lower.y, b.upper.x, b.upper.y);
  multiply_eight(sum.at, a.upper.z, a.lower.z, a.upper.w, a.lower.w, b.upper.z, b.upper.w);
  multiply_eight(sum.at + 4, a.upper.x, a.lower.x, a.upper.y, a.lower.y, b.lower.x, b.lower.y);
  multiply_eight(sum.at + 4, a.upper.z, a.lower.z, a.upper.w, a.lower.w, b.lower.z, b.lower.w);
}
DEVICE i32 matrix_row(i32 i) { return i32(lane() >> 2) + 8 * ((i >> 1) & 1); }
DEVICE i32 matrix_column(i32 i) { return 8 * (i >> 2) + 2 * i32(lane() & 3) + (i & 1); }

#elif defined(MATRIX_WMMA) || defined(MATRIX_MFMA)

#if defined(MATRIX_MFMA)
#define MATRIX_LANES 64
#define MATRIX_SUMS 4
#define MATRIX_DEPTH 4
#elif MATRIX_WMMA == 12
#define MATRIX_LANES 32
#define MATRIX_SUMS 8
#define MATRIX_DEPTH 8
#else
#define MATRIX_LANES 32
#define MATRIX_SUMS 8
#define MATRIX_DEPTH 16
#endif
typedef _Float16 MatrixHalves __attribute__((vector_size(2 * MATRIX_DEPTH)));
typedef f32 MatrixFloats __attribute__((vector_size(4 * MATRIX_SUMS)));

/// The lane's values of k for the group's two products.
struct Fragment {
  MatrixHalves at[2];
};
struct MatrixSum {
  MatrixFloats at;
};

DEVICE i32 matrix_lane() { return wave_lane(); }

// The ISA manuals' matrix chapters: MFMA and gfx12 give each lane a stretch of k by lane / 16, gfx11 all sixteen.
template <i32 LINE_OCTETS>
DEVICE Fragment load_fragment(const u32x4* tile, i32 first, i32 group) {
  i32 line = first + (matrix_lane() & 15), part = matrix_lane() >> 4;
  auto octet = [&](i32 t) { return tile[tile_place<LINE_OCTETS>(line, GROUP_OCTETS * group + t)]; };
#if defined(MATRIX_MFMA)
  return bits_as<Fragment>(octet(part));
#elif MATRIX_WMMA == 12
  return {{bits_as<MatrixHalves>(octet(part)), bits_as<MatrixHalves>(octet(part + 2))}};
#else
  (void)part;
  struct {
    u32x4 octets[4];
  } all = {{octet(0), octet(1), octet(2), octet(3)}};
  return bits_as<Fragment>(all);
#endif
}
DEVICE void multiply(MatrixSum& sum, const Fragment& a, const Fragment& b) {
  UNROLL for (i32 step = 0; step < 2; step++) {
#if defined(MATRIX_MFMA)
    sum.at = __builtin_amdgcn_mfma_f32_16x16x16f16(a.at[step], b.at[step], sum.at, 0, 0, 0);
#elif MATRIX_WMMA == 12
    sum.at = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a.at[step], b.at[step], sum.at);
#else
    sum.at = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a.at[step], b.at[step], sum.at);
#endif
  }
}
#if defined(MATRIX_MFMA)
DEVICE i32 matrix_row(i32 i) { return 4 * (matrix_lane() >> 4) + i; }
#elif MATRIX_WMMA == 12
DEVICE i32 matrix_row(i32 i) { return 8 * (matrix_lane() >> 4) + i; }
#else
DEVICE i32 matrix_row(i32 i) { return 2 * i + (matrix_lane() >> 4); }
#endif
DEVICE i32 matrix_column(i32) { return matrix_lane() & 15; }

#else

// No matrix cores: a fragment is where its lines are, and each lane sums its own elements.
#define MATRIX_LANES 32
#define MATRIX_SUMS 8
struct Fragment {
  const u32x4* tile;
  i32 line_octets, first, group;
};
struct MatrixSum {
  f32 at[MATRIX_SUMS];
};
DEVICE i32 matrix_row(i32 i) { return 2 * i + i32(lane() >> 4); }
DEVICE i32 matrix_column(i32) { return lane() & 15; }

template <i32 LINE_OCTETS>
DEVICE Fragment load_fragment(const u32x4* tile, i32 first, i32 group) {
  return {tile, LINE_OCTETS, first, group};
}
DEVICE u32x4 octet_of(const Fragment& from, i32 line, i32 octet) {
  line += from.first;
  octet += GROUP_OCTETS * from.group;
  return from.tile[line * from.line_octets + (octet ^ (((line & 1) << 2) | ((line >> 1) & 3)))];
}
DEVICE f32 add_pair(f32 sum, u32 a, u32 b) {
  sum = fused_multiply_add(half_to_float(u16(a)), half_to_float(u16(b)), sum);
  return fused_multiply_add(half_to_float(u16(a >> 16)), half_to_float(u16(b >> 16)), sum);
}
DEVICE void multiply(MatrixSum& sum, const Fragment& a, const Fragment& b) {
  UNROLL for (i32 i = 0; i < MATRIX_SUMS; i++) {
    UNROLL for (i32 octet = 0; octet < GROUP_OCTETS; octet++) {
      u32x4 x = octet_of(a, matrix_row(i), octet), y = octet_of(b, matrix_column(i), octet);
      sum.at[i] = add_pair(add_pair(add_pair(add_pair(sum.at[i], x.x, y.x), x.y, y.y), x.z, y.z), x.w, y.w);
    }
  }
}

#endif

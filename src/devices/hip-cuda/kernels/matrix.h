// Products of 16 x 16 elements over 32 values of k by one wave: f16 values in, f32 sums, on the matrix cores where the target
// has them.
//
//   A Fragment is 16 lines (rows of A, or columns of B) of 32 values of k. A lane holds MATRIX_LINES of the lines, and of each
//   FRAGMENT_OCTETS octets of 16 bytes: those of its part, of which there are MATRIX_PARTS. Any order of k serves, as long as
//   both operands have the same: so which octets these are is the caller's to choose.
//   A lane holds MATRIX_SUMS elements of the product: element i is row matrix_row(i), column matrix_column(i).
#pragma once
#include "prelude.h"

#if defined(GPU_NVIDIA)

#define MATRIX_LANES 32
#define MATRIX_SUMS 8
#define MATRIX_LINES 2
#define FRAGMENT_OCTETS 1
DEVICE i32 matrix_line(i32 l) { return i32(lane() >> 2) + 8 * l; }
DEVICE i32 matrix_part() { return lane() & 3; }

struct Fragment {
  u32x4 at[MATRIX_LINES][FRAGMENT_OCTETS];
};
struct MatrixSum {
  f32 at[MATRIX_SUMS];
};

// PTX ISA, "Matrix fragments for mma.m16n8k16": a lane has pairs of k of rows lane / 4 and lane / 4 + 8, and of one column.
DEVICE void multiply_eight(f32* sum, u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
/// The product's columns 0 to 7 only, of which a lane has the first half of its lines and sums.
DEVICE void multiply_left(MatrixSum& sum, const Fragment& a, const Fragment& b) {
  const u32x4 &upper = a.at[0][0], &lower = a.at[1][0], &left = b.at[0][0];
  multiply_eight(sum.at, upper.x, lower.x, upper.y, lower.y, left.x, left.y);
  multiply_eight(sum.at, upper.z, lower.z, upper.w, lower.w, left.z, left.w);
}
DEVICE void multiply(MatrixSum& sum, const Fragment& a, const Fragment& b) {
  const u32x4 &upper = a.at[0][0], &lower = a.at[1][0], &right = b.at[1][0];
  multiply_left(sum, a, b);
  multiply_eight(sum.at + 4, upper.x, lower.x, upper.y, lower.y, right.x, right.y);
  multiply_eight(sum.at + 4, upper.z, lower.z, upper.w, lower.w, right.z, right.w);
}
// The same of bf16, whose lanes hold the same places.
DEVICE void multiply_eight_bfloats(f32* sum, u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
DEVICE void multiply_bfloats(MatrixSum& sum, const Fragment& a, const Fragment& b) {
  const u32x4 &upper = a.at[0][0], &lower = a.at[1][0];
  UNROLL for (i32 half = 0; half < 2; half++) {
    const u32x4& column = b.at[half][0];
    multiply_eight_bfloats(sum.at + 4 * half, upper.x, lower.x, upper.y, lower.y, column.x, column.y);
    multiply_eight_bfloats(sum.at + 4 * half, upper.z, lower.z, upper.w, lower.w, column.z, column.w);
  }
}
/// Sixteen lines of 16 halves in shared memory: lane l names octet l / 16 of line l % 16, and gets, as both sides of a product want
/// it, what it holds of lines 0 to 7 (x, z) and 8 to 15 (y, w).
DEVICE u32x4 load_lines(SharedAddress octet) {
  u32x4 loaded;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(loaded.x), "=r"(loaded.y), "=r"(loaded.z), "=r"(loaded.w)
               : "r"(octet)
               : "memory");
  return loaded;
}
/// Sixteen lines of 16 halves in shared memory, transposed: lane l names octet l / 16 of line l % 16, and gets what it holds of columns
/// 0 to 7 (x, y) and 8 to 15 (z, w) of the lines as k.
DEVICE u32x4 load_transposed(SharedAddress octet) {
  u32x4 loaded;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(loaded.x), "=r"(loaded.y), "=r"(loaded.z), "=r"(loaded.w)
               : "r"(octet)
               : "memory");
  return loaded;
}
DEVICE i32 matrix_row(i32 i) { return i32(lane() >> 2) + 8 * ((i >> 1) & 1); }
DEVICE i32 matrix_column(i32 i) { return 8 * (i >> 2) + 2 * i32(lane() & 3) + (i & 1); }

#elif defined(MATRIX_WMMA) || defined(MATRIX_MFMA)

// The ISA manuals' matrix chapters: MFMA and gfx12 give each lane a stretch of k by lane / 16, gfx11 all sixteen values.
#define MATRIX_LINES 1
#if defined(MATRIX_MFMA)
#define MATRIX_LANES 64
#define MATRIX_SUMS 4
#define FRAGMENT_OCTETS 1
#elif MATRIX_WMMA == 12
#define MATRIX_LANES 32
#define MATRIX_SUMS 8
#define FRAGMENT_OCTETS 2
#else
#define MATRIX_LANES 32
#define MATRIX_SUMS 8
#define FRAGMENT_OCTETS 4
#endif
DEVICE i32 matrix_line(i32) { return wave_lane() & 15; }
DEVICE i32 matrix_part() { return FRAGMENT_OCTETS == 4 ? 0 : wave_lane() >> 4; }

struct Fragment {
  u32x4 at[MATRIX_LINES][FRAGMENT_OCTETS];
};

/// A lane's values for the fragment's two products.
typedef _Float16 MatrixHalves __attribute__((vector_size(8 * FRAGMENT_OCTETS)));
typedef f32 MatrixFloats __attribute__((vector_size(4 * MATRIX_SUMS)));
struct MatrixHalvesPair {
  MatrixHalves at[2];
};
struct MatrixSum {
  MatrixFloats at;
};

DEVICE void multiply(MatrixSum& sum, const Fragment& left, const Fragment& right) {
  MatrixHalvesPair a = bit_cast<MatrixHalvesPair>(left), b = bit_cast<MatrixHalvesPair>(right);
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
DEVICE i32 matrix_row(i32 i) { return 4 * (wave_lane() >> 4) + i; }
#elif MATRIX_WMMA == 12
DEVICE i32 matrix_row(i32 i) { return 8 * (wave_lane() >> 4) + i; }
#else
DEVICE i32 matrix_row(i32 i) { return 2 * i + (wave_lane() >> 4); }
#endif
DEVICE i32 matrix_column(i32) { return wave_lane() & 15; }

#else

// No matrix cores: each lane sums its own elements, of lines that it gets from other lanes by shuffles.
#define MATRIX_LANES 32
#define MATRIX_SUMS 8
#define MATRIX_LINES 1
#define FRAGMENT_OCTETS 2
DEVICE i32 matrix_line(i32) { return lane() & 15; }
DEVICE i32 matrix_part() { return lane() >> 4; }

struct Fragment {
  u32x4 at[MATRIX_LINES][FRAGMENT_OCTETS];
};
struct MatrixSum {
  f32 at[MATRIX_SUMS];
};
DEVICE i32 matrix_row(i32 i) { return 2 * i + i32(lane() >> 4); }
DEVICE i32 matrix_column(i32) { return lane() & 15; }

DEVICE f32 add_pair(f32 sum, u32 a, u32 b) {
  sum = fused_multiply_add(half_to_float(u16(a)), half_to_float(u16(b)), sum);
  return fused_multiply_add(half_to_float(u16(a >> 16)), half_to_float(u16(b >> 16)), sum);
}
DEVICE void multiply_words(MatrixSum& sum, u32 a, u32 b) {
  UNROLL for (i32 part = 0; part < 2; part++) {
    u32 column = shuffle_from(b, matrix_column(0) + 16 * part);
    UNROLL for (i32 i = 0; i < MATRIX_SUMS; i++) {
      sum.at[i] = add_pair(sum.at[i], shuffle_from(a, matrix_row(i) + 16 * part), column);
    }
  }
}
DEVICE void multiply(MatrixSum& sum, const Fragment& left, const Fragment& right) {
  UNROLL for (i32 octet = 0; octet < FRAGMENT_OCTETS; octet++) {
    const u32x4 &a = left.at[0][octet], &b = right.at[0][octet];
    multiply_words(sum, a.x, b.x);
    multiply_words(sum, a.y, b.y);
    multiply_words(sum, a.z, b.z);
    multiply_words(sum, a.w, b.w);
  }
}

#endif

#define MATRIX_PARTS (4 / FRAGMENT_OCTETS)

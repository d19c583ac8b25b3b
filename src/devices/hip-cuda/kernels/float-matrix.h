// Products of f32 by one warp, in tiles of 16 rows by 8 columns: on NVIDIA's matrix cores as three products of TF32 numbers, whose two
// parts together hold 21 bits of each value (Ootomo and Yokota 2022), elsewhere by ordinary arithmetic.
//
//   A lane holds FLOAT_SUMS elements of a tile: element i is row sum_row(i), column sum_column(i).
#pragma once
#include "prelude.h"

#define FLOAT_SUMS 4
struct FloatSum {
  f32 at[FLOAT_SUMS];
};
DEVICE i32 sum_row(i32 i) { return i32(lane() >> 2) + 8 * (i >> 1); }
DEVICE i32 sum_column(i32 i) { return 2 * i32(lane() & 3) + (i & 1); }

#ifdef GPU_NVIDIA

/// A value as two TF32 numbers, of which the cores read the upper 19 bits: what the first leaves is exact.
struct SplitFloat {
  u32 high, low;
};
DEVICE SplitFloat split_float(f32 value) {
  u32 high = bit_cast<u32>(value) & 0xffffe000u;
  return {high, bit_cast<u32>(value - bit_cast<f32>(high))};
}

// PTX ISA, "Matrix fragments for mma.m16n8k8": a lane has values lane % 4 and lane % 4 + 4 of k, of rows lane / 4 and lane / 4 + 8
// on the left, of column lane / 4 on the right.
DEVICE void multiply_tf32(FloatSum& sum, u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sum.at[0]), "+f"(sum.at[1]), "+f"(sum.at[2]), "+f"(sum.at[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

/// Adds to TILES tiles side by side the products over k from 0 to `depth`, a multiple of 8, of `left(row, k)` by `right(k, column)`.
template <i32 TILES, class Left, class Right>
DEVICE void multiply_floats(FloatSum* sums, i32 depth, const Left& left, const Right& right) {
  i32 line = lane() >> 2, part = lane() & 3;
#pragma unroll 2
  for (i32 k = 0; k < depth; k += 8) {
    SplitFloat a[4];
    UNROLL for (i32 i = 0; i < 4; i++) a[i] = split_float(left(line + 8 * (i & 1), k + part + 4 * (i >> 1)));
    UNROLL for (i32 tile = 0; tile < TILES; tile++) {
      SplitFloat b0 = split_float(right(k + part, 8 * tile + line)), b1 = split_float(right(k + part + 4, 8 * tile + line));
      multiply_tf32(sums[tile], a[0].low, a[1].low, a[2].low, a[3].low, b0.high, b1.high);
      multiply_tf32(sums[tile], a[0].high, a[1].high, a[2].high, a[3].high, b0.low, b1.low);
      multiply_tf32(sums[tile], a[0].high, a[1].high, a[2].high, a[3].high, b0.high, b1.high);
    }
  }
}

#else

template <i32 TILES, class Left, class Right>
DEVICE void multiply_floats(FloatSum* sums, i32 depth, const Left& left, const Right& right) {
  for (i32 k = 0; k < depth; k++) {
    f32 upper = left(sum_row(0), k), lower = left(sum_row(2), k);
    UNROLL for (i32 tile = 0; tile < TILES; tile++) {
      f32 even = right(k, 8 * tile + sum_column(0)), odd = right(k, 8 * tile + sum_column(1));
      f32* at = sums[tile].at;
      at[0] = fused_multiply_add(upper, even, at[0]);
      at[1] = fused_multiply_add(upper, odd, at[1]);
      at[2] = fused_multiply_add(lower, even, at[2]);
      at[3] = fused_multiply_add(lower, odd, at[3]);
    }
  }
}

#endif

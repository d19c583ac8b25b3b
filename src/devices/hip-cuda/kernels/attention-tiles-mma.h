// What kernels for attention on NVIDIA's matrix cores share, whose lanes hold scores in registers: of the sixteen rows of a wave, a
// lane has parts of two.
#pragma once
#include "attention-tiles.h"

constexpr f32 LOG2_E = 1.44269504f;

/// Of the two rows of a fragment that a lane has a part of, which element `i` of a product belongs to.
DEVICE i32 own_row(i32 i) { return (i >> 1) & 1; }

/// The online softmax of a lane's two rows; `total` is the lane's part of it.
struct RowStates {
  f32 largest[2], total[2];
};

/// How far a lane's rows look, -1 for those of other sequences, and the extremes of the wave's rows.
struct Limits {
  i32 own[2], lowest, highest;

  /// `row_of(l)` is the row of the block that the lane's row `l` is.
  template <class RowOf>
  DEVICE_MEMBER void find(const i32* slots, const i32* positions, i32 slot, RowOf row_of) {
    UNROLL for (i32 l = 0; l < 2; l++) {
      i32 row = row_of(l);
      own[l] = slots[row] == slot ? positions[row] : -1;
    }
    lowest = min_of(own[0], own[1]);
    highest = max_of(own[0], own[1]);
    UNROLL for (i32 step = 4; step < 32; step <<= 1) {
      lowest = min_of(lowest, shuffle_xor(lowest, step));
      highest = max_of(highest, shuffle_xor(highest, step));
    }
  }

  /// True where every row of the wave sees each of `count` positions from `at` on.
  DEVICE_MEMBER bool all_see(i32 at, i32 count, const Scores& of) const {
    return of.chunk <= 0 && at + count - 1 <= lowest && (of.window <= 0 || at > highest - of.window);
  }
};

/// Biases, caps and masks the scores of TILES times sixteen positions from `at` on.
template <i32 TILES>
DEVICE void adjust(MatrixSum* scores, i32 at, const Limits& limits, const f32* slopes, const Scores& of) {
  bool all = limits.all_see(at, 16 * TILES, of);
#if !ALIBI
  if (all && of.soft_cap <= 0) return;
#endif
  UNROLL for (i32 tile = 0; tile < TILES; tile++) {
    UNROLL for (i32 i = 0; i < MATRIX_SUMS; i++) {
      i32 limit = limits.own[own_row(i)], position = at + 16 * tile + matrix_column(i);
      f32 score = capped(biased(scores[tile].at[i], slopes[own_row(i)], position - limit), of);
      scores[tile].at[i] = all || is_visible(limit, position, of) ? score : LOWEST;
    }
  }
}

/// The largest of a row's scores, in all lanes that hold some of them.
template <i32 TILES>
DEVICE f32 largest_score(const MatrixSum* scores, i32 row) {
  f32 largest = LOWEST;
  UNROLL for (i32 tile = 0; tile < TILES; tile++) {
    UNROLL for (i32 i = 0; i < MATRIX_SUMS; i++) {
      if (own_row(i) == row) largest = max_of(largest, scores[tile].at[i]);
    }
  }
  largest = max_of(largest, shuffle_xor(largest, 1));
  return max_of(largest, shuffle_xor(largest, 2));
}

/// Turns scores into softmax weights, given the rows' largest scores so far, and rescales earlier sums.
template <i32 TILES, i32 SUMS>
DEVICE void weigh(MatrixSum* scores, MatrixSum* sums, RowStates& state, const f32* largest) {
  f32 factor[2], base[2];
  UNROLL for (i32 l = 0; l < 2; l++) {
    factor[l] = softmax_weight(state.largest[l] - largest[l]);
    state.largest[l] = largest[l];
    state.total[l] *= factor[l];
    // Where a row has seen nothing yet, what it does not see weighs nothing either.
    base[l] = largest[l] > LOWEST ? -largest[l] * LOG2_E : 0.0f;
  }
  UNROLL for (i32 tile = 0; tile < TILES; tile++) {
    UNROLL for (i32 i = 0; i < MATRIX_SUMS; i++) {
      f32 weight = hardware_exp2(fused_multiply_add(scores[tile].at[i], LOG2_E, base[own_row(i)]));
      scores[tile].at[i] = weight;
      state.total[own_row(i)] += weight;
    }
  }
  UNROLL for (i32 tile = 0; tile < SUMS; tile++) {
    UNROLL for (i32 i = 0; i < MATRIX_SUMS; i++) sums[tile].at[i] *= factor[own_row(i)];
  }
}

/// A row's total, in all lanes that hold parts of it.
DEVICE f32 whole_total(const RowStates& state, i32 row) {
  f32 total = state.total[row];
  total += shuffle_xor(total, 1);
  return total + shuffle_xor(total, 2);
}

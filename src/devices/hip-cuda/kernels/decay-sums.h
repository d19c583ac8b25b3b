// The decays of a chunk's rows, for recurrences that are computed in chunks: sums of logarithms, none of which is above 0, so that no
// factor is above 1.
#pragma once
#include "functions.h"

template <i32 ROWS>
struct DecaySums {
  /// Sums of logarithms up to each row, of 32 rows each, in f64: of long sums, differences matter.
  f64 sums[ROWS];
  /// With `G[t]` the sum of all rows up to t: `grown` is e^G[t], `left` e^(G[last] - G[t]).
  f32 grown[ROWS], left[ROWS];

  DEVICE_MEMBER f64 sum_to(i32 t) const {
    f64 sum = sums[t];
    UNROLL for (i32 end = 31; end < ROWS - 1; end += 32) sum += t > end ? sums[end] : 0.0;
    return sum;
  }

  /// e^(G[t] - G[s]).
  DEVICE_MEMBER f32 from(i32 s, i32 t) const { return exponential(f32(sum_to(t) - sum_to(s))); }

  /// Sums the logarithms that the threads of a block hold, each that of the row `thread() % ROWS`.
  DEVICE_MEMBER void add_up(f64 sum) {
    i32 own = lane();
    UNROLL for (i32 step = 1; step < LANES; step <<= 1) {
      u64 bits = bit_cast<u64>(sum);
      u32 other = u32(max_of(own - step, 0)), low = shuffle_from(u32(bits), other), high = shuffle_from(u32(bits >> 32), other);
      if (own >= step) sum += bit_cast<f64>(u64(high) << 32 | low);
    }
    if (i32(thread()) < ROWS) sums[thread()] = sum;
  }

  /// Makes the factors of sums that the whole block has written.
  DEVICE_MEMBER void make_factors() {
    if (i32(thread()) >= ROWS) return;
    f64 sum = sum_to(thread());
    grown[thread()] = exponential(f32(sum));
    left[thread()] = exponential(f32(sum_to(ROWS - 1) - sum));
  }
};

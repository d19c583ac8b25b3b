// Sums and maxima over a warp of 32 lanes and over a block, in one fixed order.
#pragma once
#include "prelude.h"

template <class T>
DEVICE T warp_sum(T value) {
  UNROLL for (i32 step = 16; step > 0; step >>= 1) value += shuffle_xor(value, step);
  return value;
}
template <class T>
DEVICE T warp_max(T value) {
  UNROLL for (i32 step = 16; step > 0; step >>= 1) value = max_of(value, shuffle_xor(value, step));
  return value;
}

/// The largest word of a warp's lanes: one instruction where there is one.
DEVICE u32 warp_max_word(u32 value) {
#if GPU_NVIDIA && __CUDA_ARCH__ >= 800
  u32 largest;
  asm volatile("redux.sync.max.u32 %0, %1, 0xffffffff;" : "=r"(largest) : "r"(value));
  return largest;
#else
  return warp_max(value);
#endif
}

/// The sum over a block of WARPS * 32 threads, in every thread. `shared` has WARPS values; it may be used again after the
/// next barrier.
template <i32 WARPS, class T>
DEVICE T block_sum(T value, T* shared) {
  value = warp_sum(value);
  if (lane() == 0) shared[thread() >> 5] = value;
  barrier();
  T sum = shared[0];
  UNROLL for (i32 warp = 1; warp < WARPS; warp++) sum += shared[warp];
  return sum;
}

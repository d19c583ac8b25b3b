// Included before every emulated kernel text: the AMD builtins of clang for g++, executed lane by lane.
#pragma once
#define ROCMFORGE_EMULATOR 1
#include <cstring>
#include <type_traits>
#include <utility>

#include "gpu-block.h"

namespace emulator {

static Block* block;

template <auto function>
struct Invoker;

template <class... Arguments, void (*function)(Arguments...)>
struct Invoker<function> {
  static constexpr KernelArgument arguments[sizeof...(Arguments) + 1] = {
      {sizeof(Arguments), std::is_pointer_v<Arguments>}..., {0, false}};

  template <size_t... index>
  static void call(void** values, std::index_sequence<index...>) {
    function(*static_cast<std::remove_cv_t<Arguments>*>(values[index])...);
  }
  static void invoke(void** values) { call(values, std::index_sequence_for<Arguments...>{}); }
  static constexpr Kernel kernel(uint32_t maxThreads) {
    return {&invoke, maxThreads, sizeof...(Arguments), arguments};
  }
};

}  // namespace emulator

extern "C" {
__attribute__((weak, visibility("hidden"))) extern uint8_t __start_emulated_shared[];
__attribute__((weak, visibility("hidden"))) extern uint8_t __stop_emulated_shared[];
__attribute__((visibility("default"))) emulator::Module emulated_module = {
    &emulator::block, __start_emulated_shared, __stop_emulated_shared};
}

#define EMULATED_SHARED static __attribute__((section("emulated_shared")))
#define EMULATED_DYNAMIC_SHARED(type, name) type* name = static_cast<type*>(emulator::block->dynamicShared)
#define EMULATED_KERNEL(name, maxThreads, ...)                                                    \
  extern "C" void name(__VA_ARGS__);                                                              \
  extern "C" __attribute__((visibility("default"))) const emulator::Kernel emulated_kernel_##name = \
      emulator::Invoker<&name>::kernel(maxThreads);                                               \
  extern "C" void name(__VA_ARGS__)

#define __HIP_MEMORY_SCOPE_SINGLETHREAD 1
#define __HIP_MEMORY_SCOPE_WAVEFRONT 2
#define __HIP_MEMORY_SCOPE_WORKGROUP 3
#define __HIP_MEMORY_SCOPE_AGENT 4
#define __HIP_MEMORY_SCOPE_SYSTEM 5

static inline uint32_t __builtin_amdgcn_workitem_id_x() { return emulator::block->threads[emulator::block->thread].x; }
static inline uint32_t __builtin_amdgcn_workitem_id_y() { return emulator::block->threads[emulator::block->thread].y; }
static inline uint32_t __builtin_amdgcn_workitem_id_z() { return emulator::block->threads[emulator::block->thread].z; }
static inline uint32_t __builtin_amdgcn_workgroup_id_x() { return emulator::block->index.x; }
static inline uint32_t __builtin_amdgcn_workgroup_id_y() { return emulator::block->index.y; }
static inline uint32_t __builtin_amdgcn_workgroup_id_z() { return emulator::block->index.z; }

static inline void __builtin_amdgcn_fence(unsigned, const char*) {}
// What a thread does that polls: the emulator gives those that it waits for a turn.
static inline void __builtin_amdgcn_s_sleep(int) { emulator::block->pause(*emulator::block); }
static inline void __builtin_amdgcn_s_barrier() { emulator::block->barrier(*emulator::block); }
static inline void __builtin_amdgcn_wave_barrier() { emulator::block->waveBarrier(*emulator::block); }

namespace emulator {

static inline uint32_t lane() { return block->thread % block->waveSize; }

// Hands a value to the other lanes of the wave and waits for theirs.
template <class T>
struct Exchange {
  static_assert(sizeof(T) <= kSlotBytes && std::is_trivially_copyable_v<T>);
  uint32_t number, half, first;

  explicit Exchange(const T& value) {
    const uint32_t thread = block->thread;
    number = ++block->exchanges[thread];
    half = number % 2;
    first = thread - thread % block->waveSize;
    memcpy(block->slots[half][thread], &value, sizeof(T));
    block->stamps[half][thread] = number;
    block->waveBarrier(*block);
  }
  // Did the lane take part? One that had returned before did not.
  bool live(uint32_t lane) const { return block->stamps[half][first + lane] == number; }
  // The value of a lane; zero where the lane had returned, as the hardware gives.
  T of(uint32_t lane) const {
    T value{};
    if (live(lane)) memcpy(&value, block->slots[half][first + lane], sizeof(T));
    return value;
  }
};

static inline uint64_t ballot(bool vote) {
  const Exchange<bool> votes(vote);
  uint64_t mask = 0;
  for (uint32_t l = 0; l < block->waveSize; l++) mask |= static_cast<uint64_t>(votes.of(l)) << l;
  return mask;
}

}  // namespace emulator

static inline int __builtin_amdgcn_ds_bpermute(int address, int value) {
  const emulator::Exchange<int> all(value);
  return all.of((static_cast<uint32_t>(address) >> 2) % emulator::block->waveSize);
}
static inline int __builtin_amdgcn_readlane(int value, int lane) {
  const emulator::Exchange<int> all(value);
  return all.of(lane);
}
static inline int __builtin_amdgcn_readfirstlane(int value) {
  const emulator::Exchange<int> all(value);
  for (uint32_t l = 0; l < emulator::block->waveSize; l++)
    if (all.live(l)) return all.of(l);
  return 0;
}
static inline uint32_t __builtin_amdgcn_ballot_w32(bool vote) { return static_cast<uint32_t>(emulator::ballot(vote)); }
static inline uint64_t __builtin_amdgcn_ballot_w64(bool vote) { return emulator::ballot(vote); }
static inline uint32_t __builtin_amdgcn_mbcnt_lo(uint32_t mask, uint32_t base) {
  const uint32_t lane = emulator::lane();
  return base + __builtin_popcount(lane < 32 ? mask & ((1u << lane) - 1) : mask);
}
static inline uint32_t __builtin_amdgcn_mbcnt_hi(uint32_t mask, uint32_t base) {
  const uint32_t lane = emulator::lane();
  return lane < 32 ? base : base + __builtin_popcount(mask & ((1u << (lane - 32)) - 1));
}

static inline float __builtin_amdgcn_exp2f(float x) { return __builtin_exp2f(x); }
static inline float __builtin_amdgcn_logf(float x) { return __builtin_log2f(x); }
static inline float __builtin_amdgcn_rcpf(float x) { return 1.0f / x; }
static inline float __builtin_amdgcn_rsqf(float x) { return 1.0f / __builtin_sqrtf(x); }

// Sum of four products of bytes, signed or not by operand; without clamping only.
static inline int __builtin_amdgcn_sudot4(bool aSigned, int a, bool bSigned, int b, int c, bool) {
  for (int k = 0; k < 32; k += 8) {
    const int x = aSigned ? static_cast<int8_t>(a >> k) : static_cast<uint8_t>(a >> k);
    const int y = bSigned ? static_cast<int8_t>(b >> k) : static_cast<uint8_t>(b >> k);
    c += x * y;
  }
  return c;
}
static inline int __builtin_amdgcn_sdot4(int a, int b, int c, bool clamp) {
  return __builtin_amdgcn_sudot4(true, a, true, b, c, clamp);
}
static inline uint32_t __builtin_amdgcn_udot4(uint32_t a, uint32_t b, uint32_t c, bool clamp) {
  return __builtin_amdgcn_sudot4(false, a, false, b, c, clamp);
}

template <class T>
static inline T __hip_atomic_load(const T* at, int order, int) {
  return __atomic_load_n(at, order);
}
template <class T, class V>
static inline void __hip_atomic_store(T* at, V value, int order, int) {
  __atomic_store_n(at, static_cast<T>(value), order);
}
template <class T, class V>
static inline T __hip_atomic_fetch_add(T* at, V value, int order, int) {
  if constexpr (std::is_integral_v<T>) {
    return __atomic_fetch_add(at, value, order);
  } else {
    T seen, sum;
    __atomic_load(at, &seen, __ATOMIC_RELAXED);
    do sum = seen + value;
    while (!__atomic_compare_exchange(at, &seen, &sum, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
    return seen;
  }
}
template <class T, class V>
static inline T __hip_atomic_fetch_max(T* at, V value, int, int) {
  T seen, most;
  __atomic_load(at, &seen, __ATOMIC_RELAXED);
  do most = seen < value ? value : seen;
  while (!__atomic_compare_exchange(at, &seen, &most, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
  return seen;
}

#include "matrix-builtins.h"

// Bytes chosen out of eight: 0 to 3 are `b`'s, 4 to 7 `a`'s, 12 is zero (ISA, V_PERM_B32); the sign selectors are not used.
static inline uint32_t __builtin_amdgcn_perm(uint32_t a, uint32_t b, uint32_t selector) {
  uint32_t result = 0;
  for (int k = 0; k < 32; k += 8) {
    const uint32_t choice = (selector >> k) & 255;
    const uint32_t byte = choice < 4 ? b >> (8 * choice) : choice < 8 ? a >> (8 * (choice - 4)) : 0;
    result |= (byte & 255) << k;
  }
  return result;
}

// What every kernel is written in: the same few names for NVRTC, hipRTC, clang -x hip and the tests' CPU emulator, which runs
// the AMD half with g++. No vendor header is included; NVIDIA's instructions are spelled in PTX, AMD's as clang builtins.
#pragma once

#if defined(__CUDACC_RTC__) || defined(__CUDACC__) || defined(__CUDA__)
#define GPU_NVIDIA 1
#else
#define GPU_AMD 1
#endif

typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;

#ifdef ROCMFORGE_EMULATOR
#define DEVICE static inline
#define NOINLINE static
#define DEVICE_MEMBER
#define CONSTANT static const
#define UNROLL
#define UNROLL_BY(count)
#else
#define DEVICE static __attribute__((device)) inline __attribute__((always_inline))
/// A function that is not inlined: large, and off the hot path. Inlined everywhere, such functions take seconds to compile.
#define NOINLINE static __attribute__((device)) __attribute__((noinline))
#define DEVICE_MEMBER __attribute__((device)) inline __attribute__((always_inline))
#define CONSTANT static __attribute__((device)) const
#define UNROLL _Pragma("unroll")
#define PRAGMA(words) _Pragma(#words)
#define UNROLL_BY(count) PRAGMA(unroll count)
#endif

struct alignas(8) u32x2 {
  u32 x, y;
};
struct alignas(16) u32x4 {
  u32 x, y, z, w;
};
struct alignas(8) f32x2 {
  f32 x, y;
};
struct alignas(16) f32x4 {
  f32 x, y, z, w;
};

template <class To, class From>
DEVICE To bit_cast(From from) {
  return __builtin_bit_cast(To, from);
}

template <class T>
DEVICE T min_of(T a, T b) {
  return a < b ? a : b;
}
template <class T>
DEVICE T max_of(T a, T b) {
  return a > b ? a : b;
}

#ifdef GPU_NVIDIA
#include "prelude-nvidia.h"
#else
#include "prelude-amd.h"
#endif

// Lanes that shuffles and reductions work over: half a wave where a wave has 64 lanes.
#define LANES 32

DEVICE u32 lane() { return thread() & (LANES - 1); }

DEVICE f32 shuffle_xor(f32 value, i32 mask) { return bit_cast<f32>(shuffle_xor(bit_cast<u32>(value), mask)); }
DEVICE f32 shuffle_from(f32 value, u32 source) { return bit_cast<f32>(shuffle_from(bit_cast<u32>(value), source)); }
DEVICE i32 shuffle_xor(i32 value, i32 mask) { return bit_cast<i32>(shuffle_xor(bit_cast<u32>(value), mask)); }
DEVICE u64 shuffle_xor(u64 value, i32 mask) {
  u32 low = shuffle_xor(u32(value), mask);
  return (u64(shuffle_xor(u32(value >> 32), mask)) << 32) | low;
}
DEVICE f64 shuffle_xor(f64 value, i32 mask) { return bit_cast<f64>(shuffle_xor(bit_cast<u64>(value), mask)); }

/// Streaming loads, which bypass the caches: weights, which a step reads once.
DEVICE u32 load_streaming(const u32* from) { return stream_u32(from); }
DEVICE u16 load_streaming(const u16* from) { return stream_u16(from); }
DEVICE u32x2 load_streaming(const u32x2* from) { return stream_u32x2(from); }
DEVICE u32x4 load_streaming(const u32x4* from) { return stream_u32x4(from); }

/// An unaligned little-endian load from the file's bytes.
DEVICE u32 bytes_u16(const u8* at) { return at[0] | (u32(at[1]) << 8); }
DEVICE u32 bytes_u32(const u8* at) { return bytes_u16(at) | (bytes_u16(at + 2) << 16); }
DEVICE f32 bytes_half(const u8* at) { return half_to_float(u16(bytes_u16(at))); }

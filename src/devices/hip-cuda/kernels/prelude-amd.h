// The prelude's AMD half: clang builtins, which the tests' CPU emulator implements from their documented meaning. The clang of
// ROCm 5 lacks the younger ones.
#pragma once

#ifdef ROCMFORGE_EMULATOR
#define SHARED EMULATED_SHARED
#define DYNAMIC_SHARED(name) EMULATED_DYNAMIC_SHARED(u8, name)
#define KERNEL(name, threads, ...) EMULATED_KERNEL(name, threads, __VA_ARGS__)
#define KERNEL_RESIDENT(name, threads, blocks, ...) EMULATED_KERNEL(name, threads, __VA_ARGS__)
#else
#define SHARED __attribute__((shared))
#define DYNAMIC_SHARED(name) extern __attribute__((shared)) __attribute__((aligned(16))) u8 name[]
#define KERNEL(name, threads, ...) \
  extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(threads, threads))) name(__VA_ARGS__)
#define KERNEL_RESIDENT(name, threads, blocks, ...) KERNEL(name, threads, __VA_ARGS__)
#endif

#if defined(__gfx1100__) || defined(__gfx1101__) || defined(__gfx1102__) || defined(__gfx1103__) || \
    defined(__gfx1150__) || defined(__gfx1151__) || defined(__gfx1152__)
#define MATRIX_WMMA 11
#define DOT_MIXED 1
#elif defined(__gfx1200__) || defined(__gfx1201__)
#define MATRIX_WMMA 12
#define DOT_MIXED 1
#elif defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx940__) || defined(__gfx942__)
#define MATRIX_MFMA 1
#define DOT_SIGNED 1
#elif defined(__gfx906__) || defined(__gfx1011__) || defined(__gfx1012__) || defined(__gfx1030__) || \
    defined(__gfx1031__) || defined(__gfx1032__) || defined(__gfx1034__) || defined(__gfx1035__) || defined(__gfx1036__)
#define DOT_SIGNED 1
#endif

DEVICE u32 thread() { return __builtin_amdgcn_workitem_id_x(); }
DEVICE u32 block_x() { return __builtin_amdgcn_workgroup_id_x(); }
DEVICE u32 block_y() { return __builtin_amdgcn_workgroup_id_y(); }
DEVICE u32 block_z() { return __builtin_amdgcn_workgroup_id_z(); }

DEVICE void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
/// Lanes of a wave run together: it is enough that the compiler keeps the order.
DEVICE void warp_barrier() {
  __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
  __builtin_amdgcn_wave_barrier();
}
DEVICE void fence_device() { __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "agent"); }
/// Also for what other cards read and write.
#ifdef ROCMFORGE_EMULATOR
DEVICE void fence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
#else
DEVICE void fence_system() { __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, ""); }
#endif

DEVICE void grid_dependency_wait() {}
DEVICE void grid_launch_dependents() {}

#if defined(MATRIX_WMMA) && !defined(ROCMFORGE_EMULATOR)
/// The same value, unknown to the compiler: what follows from it is computed where it is used, and not kept from before a loop
/// in registers that matrix fragments need.
DEVICE i32 opaque(i32 value) {
  asm volatile("" : "+v"(value));
  return value;
}
/// A scheduling barrier: fragments that are loaded early take registers early.
DEVICE void schedule_barrier() { __builtin_amdgcn_sched_barrier(0); }
#else
DEVICE i32 opaque(i32 value) { return value; }
DEVICE void schedule_barrier() {}
#endif

DEVICE i32 wave_lane() { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u)); }
DEVICE u32 shuffle_xor(u32 value, i32 mask) {
  return u32(__builtin_amdgcn_ds_bpermute((wave_lane() ^ mask) << 2, i32(value)));
}
/// The value of lane `source` of its own 32 lanes.
DEVICE u32 shuffle_from(u32 value, u32 source) {
  return u32(__builtin_amdgcn_ds_bpermute(((wave_lane() & ~31) | i32(source)) << 2, i32(value)));
}

DEVICE f32 half_to_float(u16 half) { return f32(bit_cast<_Float16>(half)); }
DEVICE u16 float_to_half(f32 value) { return bit_cast<u16>(_Float16(value)); }
DEVICE u32 pack_half2(f32 low, f32 high) { return float_to_half(low) | (u32(float_to_half(high)) << 16); }

#ifdef ROCMFORGE_EMULATOR
typedef _Float16 half2v __attribute__((vector_size(4)));
#else
typedef _Float16 half2v __attribute__((ext_vector_type(2)));
#endif
DEVICE u32 half2_mul(u32 a, u32 b) { return bit_cast<u32>(bit_cast<half2v>(a) * bit_cast<half2v>(b)); }
DEVICE u32 half2_sub(u32 a, u32 b) { return bit_cast<u32>(bit_cast<half2v>(a) - bit_cast<half2v>(b)); }
/// Halves no larger than the largest finite one, nor smaller than its negative; NaN stays.
DEVICE u32 half2_clamp(u32 a) {
  half2v x = bit_cast<half2v>(a);
  const _Float16 largest = 65504.0f;
  UNROLL for (i32 i = 0; i < 2; i++) x[i] = x[i] > largest ? largest : x[i] < -largest ? -largest : x[i];
  return bit_cast<u32>(x);
}
#ifdef ROCMFORGE_EMULATOR
/// The product of two halves is exact in f32, and so is the sum but for one rounding that f64 holds off.
DEVICE u32 half2_fma(u32 a, u32 b, u32 c) {
  half2v x = bit_cast<half2v>(a), y = bit_cast<half2v>(b), z = bit_cast<half2v>(c), r = {};
  for (int i = 0; i < 2; i++) r[i] = _Float16(f64(x[i]) * f64(y[i]) + f64(z[i]));
  return bit_cast<u32>(r);
}
#elif __has_builtin(__builtin_elementwise_fma)
DEVICE u32 half2_fma(u32 a, u32 b, u32 c) {
  return bit_cast<u32>(__builtin_elementwise_fma(bit_cast<half2v>(a), bit_cast<half2v>(b), bit_cast<half2v>(c)));
}
#else
DEVICE u32 half2_fma(u32 a, u32 b, u32 c) {
  half2v x = bit_cast<half2v>(a), y = bit_cast<half2v>(b), z = bit_cast<half2v>(c);
  half2v r = {_Float16(__builtin_fmaf16(x.x, y.x, z.x)), _Float16(__builtin_fmaf16(x.y, y.y, z.y))};
  return bit_cast<u32>(r);
}
#endif

DEVICE u32 cached_u32(const u32* from) { return *from; }
DEVICE u16 cached_u16(const u16* from) { return *from; }

DEVICE i32 dot4(u32 a, u32 b, i32 c) {
#if defined(DOT_MIXED)
  return __builtin_amdgcn_sudot4(true, i32(a), true, i32(b), c, false);
#elif defined(DOT_SIGNED)
  return __builtin_amdgcn_sdot4(i32(a), i32(b), c, false);
#else
  UNROLL for (i32 k = 0; k < 4; k++) c += i32(i8(a >> (8 * k))) * i32(i8(b >> (8 * k)));
  return c;
#endif
}
/// v_perm_b32 counts the bytes of its second operand first.
DEVICE u32 byte_permute(u32 a, u32 b, u32 selector) {
  u32 spread = (selector & 0xf) | ((selector & 0xf0) << 4) | ((selector & 0xf00) << 8) | ((selector & 0xf000) << 12);
  return __builtin_amdgcn_perm(b, a, spread);
}

DEVICE u32 masked_onto(u32 bits, u32 mask, u32 onto) { return (bits & mask) | onto; }

/// The sign of each byte in all of its bits.
DEVICE u32 sign_bytes(u32 word) { return ((word >> 7) & 0x01010101u) * 255; }

DEVICE f32 fused_multiply_add(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
DEVICE f64 fused_multiply_add(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }
#if defined(ROCMFORGE_EMULATOR) || __has_builtin(__builtin_amdgcn_exp2f)
DEVICE f32 hardware_exp2(f32 x) { return __builtin_amdgcn_exp2f(x); }
#else
DEVICE f32 hardware_exp2(f32 x) { return __builtin_exp2f(x); }
#endif
DEVICE f32 square_root(f32 x) { return __builtin_sqrtf(x); }
DEVICE f32 round_even(f32 x) { return __builtin_rintf(x); }
DEVICE f64 round_even(f64 x) { return __builtin_rint(x); }

#ifdef ROCMFORGE_EMULATOR
DEVICE u32 stream_u32(const u32* from) { return *from; }
DEVICE u16 stream_u16(const u16* from) { return *from; }
DEVICE u32x2 stream_u32x2(const u32x2* from) { return *from; }
DEVICE u32x4 stream_u32x4(const u32x4* from) { return *from; }
#else
typedef u32 u32x2v __attribute__((ext_vector_type(2)));
typedef u32 u32x4v __attribute__((ext_vector_type(4)));
DEVICE u32 stream_u32(const u32* from) { return __builtin_nontemporal_load(from); }
DEVICE u16 stream_u16(const u16* from) { return __builtin_nontemporal_load(from); }
DEVICE u32x2 stream_u32x2(const u32x2* from) {
  return bit_cast<u32x2>(__builtin_nontemporal_load(reinterpret_cast<const u32x2v*>(from)));
}
DEVICE u32x4 stream_u32x4(const u32x4* from) {
  return bit_cast<u32x4>(__builtin_nontemporal_load(reinterpret_cast<const u32x4v*>(from)));
}
#endif

template <class T>
DEVICE T atomic_add(T* at, T value) {
  return __hip_atomic_fetch_add(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

/// What NVIDIA's compiler has to be told: see there.
DEVICE i32 anew(i32 value) { return value; }

/// NVIDIA's asynchronous copies to shared memory, here done at once.
typedef u8* SharedAddress;
DEVICE SharedAddress shared_address(void* at) { return static_cast<u8*>(at); }
DEVICE u32x4 load_shared_16(SharedAddress at) { return *reinterpret_cast<const u32x4*>(at); }
DEVICE u32x2 load_shared_8(SharedAddress at) { return *reinterpret_cast<const u32x2*>(at); }
DEVICE void cp_async_16(SharedAddress to, const void* global) {
  *reinterpret_cast<u32x4*>(to) = *static_cast<const u32x4*>(global);
}
DEVICE void cp_async_8(SharedAddress to, const void* global) { *reinterpret_cast<u32x2*>(to) = *static_cast<const u32x2*>(global); }
DEVICE void cp_async_4(SharedAddress to, const void* global) { *reinterpret_cast<u32*>(to) = *static_cast<const u32*>(global); }
DEVICE void cp_async_commit() {}
template <i32 batches>
DEVICE void cp_async_wait() {}

/// Memory as all cards and the host see it, past the caches; groups of 16 bytes in halves that are never torn.
DEVICE void store_system(u32x4* at, u32x4 value) {
  u64* halves = reinterpret_cast<u64*>(at);
  __hip_atomic_store(halves, value.x | (u64(value.y) << 32), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
  __hip_atomic_store(halves + 1, value.z | (u64(value.w) << 32), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
DEVICE void store_system(u32x2* at, u32x2 value) {
  __hip_atomic_store(reinterpret_cast<u64*>(at), value.x | (u64(value.y) << 32), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
DEVICE void store_system(u32* at, u32 value) { __hip_atomic_store(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM); }
DEVICE u32x4 load_system(const u32x4* from) {
  u64* halves = reinterpret_cast<u64*>(const_cast<u32x4*>(from));
  u64 low = __hip_atomic_load(halves, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
  u64 high = __hip_atomic_load(halves + 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
  return {u32(low), u32(low >> 32), u32(high), u32(high >> 32)};
}
DEVICE u32 load_system(const u32* from) { return __hip_atomic_load(const_cast<u32*>(from), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM); }
/// Between two looks at what another card writes: the wave's instructions make room for others'.
DEVICE void spin_pause() { __builtin_amdgcn_s_sleep(1); }

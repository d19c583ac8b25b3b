// The prelude's NVIDIA half: PTX, so that NVRTC and clang agree without headers.
#pragma once

#define SHARED __shared__
#define DYNAMIC_SHARED(name) extern __shared__ __attribute__((aligned(16))) u8 name[]
#define KERNEL(name, threads, ...) extern "C" __global__ void __launch_bounds__(threads) name(__VA_ARGS__)
/// With at least `blocks` blocks on a multiprocessor, which limits the registers.
#define KERNEL_RESIDENT(name, threads, blocks, ...) \
  extern "C" __global__ void __launch_bounds__(threads, blocks) name(__VA_ARGS__)

#define SPECIAL_REGISTER(name, register)      \
  DEVICE u32 name() {                         \
    u32 value;                                \
    asm("mov.u32 %0, " register ";" : "=r"(value)); \
    return value;                             \
  }
SPECIAL_REGISTER(thread, "%%tid.x")
SPECIAL_REGISTER(block_x, "%%ctaid.x")
SPECIAL_REGISTER(block_y, "%%ctaid.y")
SPECIAL_REGISTER(block_z, "%%ctaid.z")

DEVICE void barrier() { asm volatile("bar.sync 0;" ::: "memory"); }
/// Of whole warps, `threads` threads that say the same `id`, from 1 to 15.
DEVICE void barrier_of(i32 id, i32 threads) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory"); }
DEVICE void warp_barrier() { asm volatile("bar.warp.sync 0xffffffff;" ::: "memory"); }
DEVICE void fence_device() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }
/// Also for what other cards read and write.
DEVICE void fence_system() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }

/// The results of the launches before this one may be read after `grid_dependency_wait`; what they do not write may be read before.
#ifdef PROGRAMMATIC
DEVICE void grid_dependency_wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
DEVICE void grid_launch_dependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
#else
DEVICE void grid_dependency_wait() {}
DEVICE void grid_launch_dependents() {}
#endif

/// Registers are spread well without help here.
DEVICE i32 opaque(i32 value) { return value; }
/// The same value, unknown to the compiler: what follows from it is computed anew, and not kept from before in registers.
DEVICE i32 anew(i32 value) {
  asm volatile("" : "+r"(value));
  return value;
}
DEVICE void schedule_barrier() {}

DEVICE u32 shuffle_xor(u32 value, i32 mask) {
  u32 other;
  asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(other) : "r"(value), "r"(mask));
  return other;
}
DEVICE u32 shuffle_from(u32 value, u32 source) {
  u32 other;
  asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(other) : "r"(value), "r"(source));
  return other;
}

DEVICE f32 half_to_float(u16 half) {
  f32 value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
  return value;
}
DEVICE u16 float_to_half(f32 value) {
  u16 half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
  return half;
}
/// Two halves in one word, `low` first.
DEVICE u32 pack_half2(f32 low, f32 high) {
  u32 pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
DEVICE u32 half2_fma(u32 a, u32 b, u32 c) {
  u32 result;
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
  return result;
}
/// The first instructions of an octet that is decoded are volatile: the compiler would try to sink each chain of them to where it is used,
/// for a second or more in kernels that decode many, and make the same code of it.
DEVICE u32 half2_sub(u32 a, u32 b) {
  u32 result;
  asm volatile("sub.rn.f16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  return result;
}
DEVICE u32 half2_mul(u32 a, u32 b) {
  u32 result;
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  return result;
}
/// Halves no larger than the largest finite one, nor smaller than its negative; NaN stays.
DEVICE u32 half2_clamp(u32 a) {
  u32 result;
  asm("{ .reg .b32 low; max.NaN.f16x2 low, %1, %2; min.NaN.f16x2 %0, low, %3; }" : "=r"(result) : "r"(a), "r"(0xfbfffbffu), "r"(0x7bff7bffu));
  return result;
}

/// `c` plus the products of four signed bytes.
DEVICE i32 dot4(u32 a, u32 b, i32 c) {
  i32 sum;
  asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(c));
  return sum;
}
/// Bytes of two words chosen by the nibbles of `selector`: 0-3 from `a`, 4-7 from `b`.
DEVICE u32 byte_permute(u32 a, u32 b, u32 selector) {
  u32 chosen;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(chosen) : "r"(a), "r"(b), "r"(selector));
  return chosen;
}

/// `bits & mask | onto`, in one instruction: of two constants, the compiler would make two.
DEVICE u32 masked_onto(u32 bits, u32 mask, u32 onto) {
  u32 result;
  asm volatile("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(result) : "r"(bits), "r"(mask), "r"(onto));
  return result;
}

/// The sign of each byte in all of its bits.
DEVICE u32 sign_bytes(u32 word) { return byte_permute(word, word, 0xba98u); }

DEVICE f32 fused_multiply_add(f32 a, f32 b, f32 c) {
  f32 result;
  asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(result) : "f"(a), "f"(b), "f"(c));
  return result;
}
/// 2^x and 1/sqrt(x) of the hardware, accurate to 2^-22.
DEVICE f32 hardware_exp2(f32 x) {
  f32 result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
/// 1/x of the hardware, accurate to 2^-23.
DEVICE f32 hardware_reciprocal(f32 x) {
  f32 result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
DEVICE f32 square_root(f32 x) {
  f32 result;
  asm("sqrt.rn.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
DEVICE f32 round_even(f32 x) {
  f32 result;
  asm("cvt.rni.f32.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
DEVICE f64 round_even(f64 x) {
  f64 result;
  asm("cvt.rni.f64.f64 %0, %1;" : "=d"(result) : "d"(x));
  return result;
}
DEVICE f64 fused_multiply_add(f64 a, f64 b, f64 c) {
  f64 result;
  asm("fma.rn.f64 %0, %1, %2, %3;" : "=d"(result) : "d"(a), "d"(b), "d"(c));
  return result;
}

// With FETCHES_WIDE, which a kernel defines before this, the L2 cache fetches the 256 bytes around what is asked for: others ask for them.
#ifdef FETCHES_WIDE
#define STREAM "ld.global.nc.L1::no_allocate.L2::256B."
#else
#define STREAM "ld.global.nc.L1::no_allocate."
#endif
DEVICE u32 stream_u32(const u32* from) {
  u32 value;
  asm volatile(STREAM "u32 %0, [%1];" : "=r"(value) : "l"(from));
  return value;
}
DEVICE u16 stream_u16(const u16* from) {
  u16 value;
  asm volatile(STREAM "u16 %0, [%1];" : "=h"(value) : "l"(from));
  return value;
}
/// The same of what other warps of the multiprocessor read parts of, too: through its cache.
DEVICE u32 cached_u32(const u32* from) {
  u32 value;
  asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(value) : "l"(from));
  return value;
}
DEVICE u16 cached_u16(const u16* from) {
  u16 value;
  asm volatile("ld.global.nc.u16 %0, [%1];" : "=h"(value) : "l"(from));
  return value;
}
DEVICE u32x2 stream_u32x2(const u32x2* from) {
  u32x2 value;
  asm volatile(STREAM "v2.u32 {%0, %1}, [%2];" : "=r"(value.x), "=r"(value.y) : "l"(from));
  return value;
}
DEVICE u32x4 stream_u32x4(const u32x4* from) {
  u32x4 value;
  asm volatile(STREAM "v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(from));
  return value;
}

/// The same of what launches before this one have written, which may end while this one waits for them: not the path of what is only read.
DEVICE u32x4 stream_written_u32x4(const u32x4* from) {
  u32x4 value;
  asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(from));
  return value;
}

DEVICE u32 atomic_add(u32* at, u32 value) {
  u32 before;
  asm volatile("atom.add.u32 %0, [%1], %2;" : "=r"(before) : "l"(at), "r"(value) : "memory");
  return before;
}
DEVICE u64 atomic_add(u64* at, u64 value) {
  u64 before;
  asm volatile("atom.add.u64 %0, [%1], %2;" : "=l"(before) : "l"(at), "l"(value) : "memory");
  return before;
}

/// A place in shared memory as copies want it, in bytes.
typedef u32 SharedAddress;
DEVICE SharedAddress shared_address(void* at) {
  u32 address;
  asm("{ .reg .u64 s; cvta.to.shared.u64 s, %1; cvt.u32.u64 %0, s; }" : "=r"(address) : "l"(at));
  return address;
}
DEVICE u32x4 load_shared_16(SharedAddress at) {
  u32x4 value;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "r"(at)
               : "memory");
  return value;
}
DEVICE u32x2 load_shared_8(SharedAddress at) {
  u32x2 value;
  asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(value.x), "=r"(value.y) : "r"(at) : "memory");
  return value;
}
/// Copies 16 bytes to shared memory while the thread goes on; `cp_async_commit` closes a batch, `cp_async_wait` waits until at
/// most so many of the last batches are under way.
DEVICE void cp_async_16(SharedAddress to, const void* global) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(global) : "memory");
}
/// The same for what other blocks on the multiprocessor copy, too: through its cache.
DEVICE void cp_async_cached_16(SharedAddress to, const void* global) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(to), "l"(global) : "memory");
}
/// The same of eight or four bytes, also to places that do not lie side by side.
DEVICE void cp_async_8(SharedAddress to, const void* global) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(to), "l"(global) : "memory");
}
DEVICE void cp_async_4(SharedAddress to, const void* global) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(global) : "memory");
}
DEVICE void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <i32 batches>
DEVICE void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(batches) : "memory");
}

/// Memory as all cards and the host see it, past the caches; groups of 16 bytes in halves that are never torn.
DEVICE void store_system(u32x4* at, u32x4 value) {
  asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(at), "r"(value.x), "r"(value.y), "r"(value.z), "r"(value.w)
               : "memory");
}
DEVICE void store_system(u32x2* at, u32x2 value) {
  asm volatile("st.volatile.global.v2.u32 [%0], {%1, %2};" ::"l"(at), "r"(value.x), "r"(value.y) : "memory");
}
DEVICE void store_system(u32* at, u32 value) { asm volatile("st.volatile.global.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory"); }
DEVICE u32x4 load_system(const u32x4* from) {
  u32x4 value;
  asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(from)
               : "memory");
  return value;
}
DEVICE u32 load_system(const u32* from) {
  u32 value;
  asm volatile("ld.volatile.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  return value;
}
/// Between two looks at what another card writes.
DEVICE void spin_pause() {}

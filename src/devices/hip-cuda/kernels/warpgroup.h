// Hopper's asynchronous products: a warpgroup of four warps multiplies 64 lines of f16 in its registers by ROWS columns in shared
// memory, 16 values of k at a time (PTX ISA, "wgmma.mma_async", target sm_90a). Warp w has lines 16w to 16w + 15 as `matrix.h` places
// a Fragment's, and of each eight columns the sums of a MatrixSum's first half.
#pragma once
#include "matrix.h"

/// Registers may be given to products, and sums taken from them, after this.
DEVICE void warpgroup_arrive() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
DEVICE void warpgroup_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/// Waits until at most so many of the last batches are under way.
template <i32 batches>
DEVICE void warpgroup_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(batches) : "memory");
}
/// Registers that products read have been written before what follows, and sums are not taken before it: compilers know nothing of
/// asynchronous products, and would move what computes with them.
DEVICE void settle(u32x4& words) { asm volatile("" : "+r"(words.x), "+r"(words.y), "+r"(words.z), "+r"(words.w)); }
DEVICE void settle(f32& sum) { asm volatile("" : "+f"(sum)); }
/// What this thread has written to shared memory is seen by products of all, after a barrier.
DEVICE void fence_for_products() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

/// Columns in shared memory, without swizzling: eight columns of eight values of k are 128 bytes, a column's in 16; the next columns
/// follow, and the next values of k lie `k_stride` bytes apart.
DEVICE u64 columns_at(SharedAddress at, u32 k_stride) {
  return u64((at & 0x3ffff) >> 4) | (u64(k_stride >> 4) << 16) | (u64(128 >> 4) << 32);
}

#define SUMS_4(s, i) "+f"(s[i]), "+f"(s[i + 1]), "+f"(s[i + 2]), "+f"(s[i + 3])
#define SUMS_8(s, i) SUMS_4(s, i), SUMS_4(s, i + 4)
#define SUMS_16(s, i) SUMS_8(s, i), SUMS_8(s, i + 8)
#define SUMS_32(s, i) SUMS_16(s, i), SUMS_16(s, i + 16)
#define SUMS_64(s, i) SUMS_32(s, i), SUMS_32(s, i + 32)
#define NAMES_4 "%0,%1,%2,%3"
#define NAMES_8 NAMES_4 ",%4,%5,%6,%7"
#define NAMES_16 NAMES_8 ",%8,%9,%10,%11,%12,%13,%14,%15"
#define NAMES_32 NAMES_16 ",%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define NAMES_64                                                                          \
  NAMES_32 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50" \
           ",%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
/// Chooses a product by its number of columns.
template <i32 COUNT>
struct Columns {};
#define MULTIPLY_WARPGROUP(count, sums, left, columns)                                                                     \
  DEVICE void multiply_warpgroup(Columns<count>, f32* s, u32 a0, u32 a1, u32 a2, u32 a3, u64 at) {                         \
    asm volatile("{ .reg .pred adds; setp.ne.b32 adds, 1, 0; wgmma.mma_async.sync.aligned.m64n" #count                     \
                 "k16.f32.f16.f16 {" NAMES_##sums "}, {" left "}, " columns ", adds, 1, 1, 0; }"                           \
                 : SUMS_##sums(s, 0)                                                                                       \
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "l"(at));                                                           \
  }
// Adds to a lane's sums its part of 64 lines, in the order of `multiply_eight`, times 16 values of k of the columns at `columns_at`.
MULTIPLY_WARPGROUP(64, 32, "%32,%33,%34,%35", "%36")
MULTIPLY_WARPGROUP(128, 64, "%64,%65,%66,%67", "%68")

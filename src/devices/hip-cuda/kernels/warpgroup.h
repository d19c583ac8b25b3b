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

/// What asynchronous products wait for one another with (PTX ISA, "mbarrier"): a phase ends when so many have arrived and all bytes that
/// copies were to bring are there.
DEVICE void init_barrier(SharedAddress at, i32 arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(arrivals) : "memory");
}
/// Barriers of this thread may be used by others and by copies, after a barrier of the block.
DEVICE void fence_barriers() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
DEVICE void arrive(SharedAddress at) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at) : "memory"); }
DEVICE void arrive_for_copies(SharedAddress at, i32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(bytes) : "memory");
}
/// Waits for the end of a phase, of which every second has the parity 1.
DEVICE void wait_for_phase(SharedAddress at, u32 parity) {
  asm volatile("{ .reg .pred ended; again: mbarrier.try_wait.parity.shared::cta.b64 ended, [%0], %1; @!ended bra again; }" ::"r"(at), "r"(parity)
               : "memory");
}
/// Has the copy engine bring bytes from global memory.
DEVICE void copy_to_shared(SharedAddress to, const void* from, i32 bytes, SharedAddress barrier_at) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "l"(from), "r"(bytes),
               "r"(barrier_at)
               : "memory");
}
/// Leaves registers of the warps of a warpgroup to others of the block, and takes them.
template <i32 registers>
DEVICE void leave_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers));
}
template <i32 registers>
DEVICE void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers));
}

// Blocks of a cluster read one another's shared memory.
SPECIAL_REGISTER(cluster_blocks, "%%cluster_nctaid.x")
SPECIAL_REGISTER(cluster_block, "%%cluster_ctaid.x")
SPECIAL_REGISTER(blocks_x, "%%nctaid.x")
SPECIAL_REGISTER(blocks_y, "%%nctaid.y")
DEVICE void cluster_barrier() { asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory"); }
DEVICE f32x4 load_from_block(SharedAddress at, u32 block) {
  f32x4 loaded;
  asm volatile("{ .reg .u32 there; mapa.shared::cluster.u32 there, %4, %5; ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [there]; }"
               : "=f"(loaded.x), "=f"(loaded.y), "=f"(loaded.z), "=f"(loaded.w)
               : "r"(at), "r"(block)
               : "memory");
  return loaded;
}
DEVICE void store_shared_16(SharedAddress at, f32x4 of) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(at), "f"(of.x), "f"(of.y), "f"(of.z), "f"(of.w) : "memory");
}

/// Columns in shared memory as `halves.h` has core matrices: of eight columns, those of a word of the octets are 128 bytes, the next word's
/// follow, and the next columns lie 512 bytes apart.
DEVICE u64 columns_at(SharedAddress at) {
  return u64((at & 0x3ffff) >> 4) | (u64(128 >> 4) << 16) | (u64(512 >> 4) << 32);
}

#define SUMS_4(s, i) "+f"(s[i]), "+f"(s[i + 1]), "+f"(s[i + 2]), "+f"(s[i + 3])
#define SUMS_8(s, i) SUMS_4(s, i), SUMS_4(s, i + 4)
#define SUMS_16(s, i) SUMS_8(s, i), SUMS_8(s, i + 8)
#define SUMS_32(s, i) SUMS_16(s, i), SUMS_16(s, i + 16)
#define SUMS_64(s, i) SUMS_32(s, i), SUMS_32(s, i + 32)
#define SUMS_128(s, i) SUMS_64(s, i), SUMS_64(s, i + 64)
#define NAMES_4 "%0,%1,%2,%3"
#define NAMES_8 NAMES_4 ",%4,%5,%6,%7"
#define NAMES_16 NAMES_8 ",%8,%9,%10,%11,%12,%13,%14,%15"
#define NAMES_32 NAMES_16 ",%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define NAMES_64                                                                          \
  NAMES_32 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50" \
           ",%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define NAMES_128                                                                                             \
  NAMES_64 ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87" \
           ",%88,%89,%90,%91,%92,%93,%94,%95,%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108"    \
           ",%109,%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"
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
MULTIPLY_WARPGROUP(32, 16, "%16,%17,%18,%19", "%20")
MULTIPLY_WARPGROUP(64, 32, "%32,%33,%34,%35", "%36")
MULTIPLY_WARPGROUP(128, 64, "%64,%65,%66,%67", "%68")
MULTIPLY_WARPGROUP(256, 128, "%128,%129,%130,%131", "%132")

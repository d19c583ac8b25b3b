// The sum of a large tensor over a few ranks of a group, in the order of the ranks. Rows are sent as they are, which takes half the
// bytes of slots with epochs; behind them a block fences and tells the blocks of its number on the other ranks how far it has come.
#define THREADS 512
#include "peers.h"

// BULK: groups of four numbers that a rank sends at once. Their memory and the flags are behind the slots of an inbox.
#define RING 4

/// Where `sender` puts its group `slot` in an epoch. A rank sends for an epoch when it has read everything of the one before the last,
/// so what is overwritten, four epochs old, has been read by its receiver.
DEVICE u64 bulk_place(u32 epoch, u32 sender, u32 slot) {
  return u64(2) * RANKS * SLOTS + (u64(epoch % RING) * RANKS + sender) * BULK + slot;
}
/// The epoch up to which a block of `sender` has sent everything.
DEVICE u32* bulk_flag(u32x4* inbox, u32 sender, u32 block) {
  return reinterpret_cast<u32*>(inbox + u64(2) * RANKS * SLOTS + u64(RING) * RANKS * BULK) + sender * MOST_BLOCKS + block;
}

DEVICE u32 add_bits(u32 a, u32 b) { return bit_cast<u32>(bit_cast<f32>(a) + bit_cast<f32>(b)); }
DEVICE u32x4 add_four(u32x4 a, u32x4 b) {
  return {add_bits(a.x, b.x), add_bits(a.y, b.y), add_bits(a.z, b.z), add_bits(a.w, b.w)};
}

DEVICE void send_pass(Peers& peers, u32 epoch, const u32x4* x, u32 slots) {
  for (u32 slot = peers.first; slot < slots; slot += BATCH * peers.stride) {
    u32x4 own[BATCH];
    UNROLL for (u32 k = 0; k < BATCH; k++) own[k] = x[min_of(slot + k * peers.stride, slots - 1)];
    UNROLL for (u32 distance = 1; distance < RANKS; distance++) {
      u32x4* at = peers.inboxes[distance] + bulk_place(epoch, peers.rank, 0);
      UNROLL for (u32 k = 0; k < BATCH; k++) if (slot + k * peers.stride < slots) at[slot + k * peers.stride] = own[k];
    }
  }
  barrier();
  if (thread() != 0) return;
  fence_system();
  UNROLL for (u32 distance = 1; distance < RANKS; distance++) {
    store_system(bulk_flag(peers.inboxes[distance], peers.rank, block_x()), epoch);
  }
}

/// Waits until the blocks of the same number have sent everything for the epoch.
DEVICE void await_pass(Peers& peers, u32 epoch) {
  if (thread() < RANKS && thread() != peers.rank) {
    const u32* flag = bulk_flag(peers.inboxes[0], thread(), block_x());
    for (u32 polls = 1; !peers.over && i32(load_system(flag) - epoch) < 0; polls++) {
      if (polls % POLLS == 0) peers.look();
      spin_pause();
    }
    fence_system();
  }
  barrier();
}

DEVICE void add_pass(Peers& peers, u32 epoch, const u32x4* x, const u32x4* addend, u32x4* out, u32 slots) {
  for (u32 slot = peers.first; slot < slots; slot += BATCH * peers.stride) {
    u32x4 terms[BATCH][RANKS], more[BATCH];
    UNROLL for (u32 k = 0; k < BATCH; k++) {
      const u32 at = min_of(slot + k * peers.stride, slots - 1);
      UNROLL for (u32 sender = 0; sender < RANKS; sender++) {
        terms[k][sender] = sender == peers.rank ? x[at] : load_system(peers.inboxes[0] + bulk_place(epoch, sender, at));
      }
      if (addend) more[k] = addend[at];
    }
    UNROLL for (u32 k = 0; k < BATCH; k++) {
      u32x4 total = terms[k][0];
      UNROLL for (u32 sender = 1; sender < RANKS; sender++) total = add_four(total, terms[k][sender]);
      if (addend) total = add_four(total, more[k]);
      if (slot + k * peers.stride < slots) out[slot + k * peers.stride] = total;
    }
  }
}

KERNEL(all_reduce_bulk, THREADS, const u32* count, const u32x4* x, const u32x4* addend, u32x4* out, u32 width, PEER_PARAMETERS) {
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  Peers peers = PEERS;
  const u32 size = used * (width / 4), passes = (size + BULK - 1) / BULK;
  const u32 before = state->epoch;
  for (u32 pass = 0; pass <= passes; pass++) {
    if (pass < passes) send_pass(peers, before + 1 + pass, x + u64(pass) * BULK, min_of(size - pass * BULK, u32(BULK)));
    if (pass == 0) continue;
    // While the next ones are under way.
    await_pass(peers, before + pass);
    const u64 base = u64(pass - 1) * BULK;
    add_pass(peers, before + pass, x + base, addend ? addend + base : nullptr, out + base, min_of(size - u32(base), u32(BULK)));
  }
  peers.finish(before + passes, blocks);
}

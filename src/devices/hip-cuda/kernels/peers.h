// What the cards of a group say to each other within kernels, over their inboxes. That a rank has read everything of the last epoch
// when it sends for the next holds between kernels, as each waits for all ranks' numbers, and within one slot by slot: the same thread
// has the same slots on all ranks, and every pass over the inboxes has as many.
#pragma once
#include "inbox.h"

#ifndef THREADS
#define THREADS 256
#endif
/// Slots whose memory a thread reads at once: as many as registers hold.
#define BATCH (RANKS == 2 ? 4 : RANKS <= 4 ? 2 : 1)
/// The most blocks of a kernel.
#define MOST_BLOCKS 128
/// Polls between two looks at the abort word, which is in the host's memory.
#ifdef ROCMFORGE_EMULATOR
#define POLLS 64
#else
#define POLLS 4096
#endif

#define PEER_PARAMETERS                                                                                                       \
  u32x4 *inbox0, u32x4 *inbox1, u32x4 *inbox2, u32x4 *inbox3, u32x4 *inbox4, u32x4 *inbox5, u32x4 *inbox6, u32x4 *inbox7,     \
      RankState *state, u32 *aborted, u32 rank, u32 patience, u32 blocks
#define PEERS                                                                                            \
  {                                                                                                      \
    {inbox0, inbox1, inbox2, inbox3, inbox4, inbox5, inbox6, inbox7}, state, aborted, rank, patience, 0, \
        block_x() * THREADS + thread(), blocks *THREADS, false                                           \
  }

/// One thread's view of the group.
struct Peers {
  /// Its own inbox, then those of the ranks after it, in order and from the first again.
  u32x4* inboxes[8];
  RankState* state;
  /// Not 0 once somebody gave up waiting.
  u32* aborted;
  u32 rank;
  /// How often a thread looks at the abort word until it gives up itself.
  u32 patience, looks;
  /// Which slots it has: `first`, and every `stride` from there.
  u32 first, stride;
  bool over;

  /// Sends to the rank that is `distance` after this one.
  DEVICE_MEMBER void send(u32 distance, u32 epoch, u32 slot, f32x2 pair) {
    store_system(inboxes[distance] + inbox_place(epoch, rank, slot), {bit_cast<u32>(pair.x), epoch, bit_cast<u32>(pair.y), epoch});
  }
  DEVICE_MEMBER void send_all(u32 epoch, u32 slot, f32x2 pair) {
    UNROLL for (u32 distance = 1; distance < RANKS; distance++) send(distance, epoch, slot, pair);
  }
  /// What another rank has sent; anything once the group is aborted.
  DEVICE_MEMBER f32x2 receive(u32 epoch, u32 sender, u32 slot) {
    const u32x4* at = inboxes[0] + inbox_place(epoch, sender, slot);
    for (u32 polls = 1; !over; polls++) {
      u32x4 found = load_system(at);
      if (found.y == epoch && found.w == epoch) return {bit_cast<f32>(found.x), bit_cast<f32>(found.z)};
      if (polls % POLLS == 0) look();
      spin_pause();
    }
    return {0, 0};
  }
  DEVICE_MEMBER void look() {
    if (load_system(aborted) != 0) over = true;
    else if (++looks >= patience) {
      store_system(aborted, 2 + rank);
      over = true;
    }
  }
  /// What every rank has sent, as far as it is there: another one's loads need not wait for it.
  DEVICE_MEMBER void peek(u32 epoch, u32 slot, u32x4* found) {
    UNROLL for (u32 sender = 0; sender < RANKS; sender++) found[sender] = load_system(inboxes[0] + inbox_place(epoch, sender, slot));
  }
  DEVICE_MEMBER f32x2 receive(u32 epoch, u32 sender, u32 slot, u32x4 found) {
    if (found.y == epoch && found.w == epoch) return {bit_cast<f32>(found.x), bit_cast<f32>(found.z)};
    return receive(epoch, sender, slot);
  }
  /// The sum over the ranks in their order, which gives all of them the same bits; `own` is what this rank adds.
  DEVICE_MEMBER f32x2 sum(u32 epoch, u32 slot, f32x2 own, const u32x4* found) {
    f32x2 total = rank == 0 ? own : receive(epoch, 0, slot, found[0]);
    UNROLL for (u32 sender = 1; sender < RANKS; sender++) {
      f32x2 term = rank == sender ? own : receive(epoch, sender, slot, found[sender]);
      total = {total.x + term.x, total.y + term.y};
    }
    return total;
  }
  /// Ends the kernel: the last block sets the epoch for the next one.
  DEVICE_MEMBER void finish(u32 epoch, u32 blocks) {
    barrier();
    if (thread() == 0 && atomic_add(&state->ended, 1u) + 1 == blocks) {
      state->ended = 0;
      state->epoch = epoch;
    }
  }
};

/// Slots of each of the fewest passes over the inboxes that take `pairs` of numbers; the last ones of the last pass may be empty.
DEVICE u32 slots_of_pass(u32 pairs, u32 most) {
  const u32 passes = (pairs + most - 1) / most;
  return passes <= 1 ? pairs : (pairs + passes - 1) / passes;
}

/// Two neighbours of `size` numbers; the last may be alone, and there is nothing behind it.
DEVICE f32x2 pair_of(const f32* x, u32 pair, u32 size) {
  return {2 * pair < size ? x[2 * pair] : 0, 2 * pair + 1 < size ? x[2 * pair + 1] : 0};
}
/// The same, zeros where there is no tensor.
DEVICE f32x2 addend_of(const f32* x, u32 pair, u32 size) { return x ? pair_of(x, pair, size) : f32x2{0, 0}; }
DEVICE f32x2 plus(f32x2 a, f32x2 b) { return {a.x + b.x, a.y + b.y}; }
DEVICE void store_pair(f32* out, u32 pair, u32 size, f32x2 value) {
  if (2 * pair < size) out[2 * pair] = value.x;
  if (2 * pair + 1 < size) out[2 * pair + 1] = value.y;
}

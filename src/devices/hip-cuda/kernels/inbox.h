// Inboxes: every rank of a group has one in its memory, which the others write and it polls. A slot holds two numbers, each beside the
// epoch in which it was sent (NCCL's LL protocol): nothing is fenced, and what is read has either been sent for this epoch or is not
// there yet. Inboxes alternate from epoch to epoch: a rank sends for an epoch when it has read everything of the last one, so what is
// overwritten, two epochs old, has been read by its receiver.
#pragma once
#include "prelude.h"

// RANKS: of the group. SLOTS: of an inbox, for each sender and parity of the epoch.

/// Where a rank's kernels keep count: the last epoch, and how many blocks of the kernel that runs have ended.
struct RankState {
  u32 epoch, ended;
};

/// A slot of an inbox for what `sender` sends in an epoch.
DEVICE u64 inbox_place(u32 epoch, u32 sender, u32 slot) { return (u64(epoch & 1) * RANKS + sender) * SLOTS + slot; }

/// What a kernel needs that sends numbers without waiting for any: the inboxes of the ranks after its own, in order and from the first
/// again. The kernel behind it, which does wait, counts the epoch.
#define PUSH_PARAMETERS                                                                                                        \
  u32x4 *inbox1, u32x4 *inbox2, u32x4 *inbox3, u32x4 *inbox4, u32x4 *inbox5, u32x4 *inbox6, u32x4 *inbox7,                     \
      const RankState *state, u32 rank
#define PUSH_INBOXES \
  { inbox1, inbox2, inbox3, inbox4, inbox5, inbox6, inbox7 }

/// Sends number `index` of a tensor to all others, in its half of a slot.
DEVICE void push_number(u32x4* const* inboxes, u32 epoch, u32 rank, u32 index, f32 value) {
  const u64 half = 2 * inbox_place(epoch, rank, index / 2) + index % 2;
  UNROLL for (u32 other = 0; other < RANKS - 1; other++) {
    store_system(reinterpret_cast<u32x2*>(inboxes[other]) + half, {bit_cast<u32>(value), epoch});
  }
}

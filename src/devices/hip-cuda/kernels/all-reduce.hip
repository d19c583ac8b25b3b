// The sum of a tensor over the ranks of a group, in the order of the ranks; `addend`, which may be null, is added to the sum.
#include "peers.h"

/// Adds up what all have sent for an epoch: the `slots` pairs from `base` on of `size` numbers.
DEVICE void add_slots(Peers& peers, u32 epoch, const f32* x, const f32* addend, f32* out, u32 size, u32 base, u32 slots) {
  for (u32 slot = peers.first; slot < slots; slot += BATCH * peers.stride) {
    // All that can be read is on its way before the first wait.
    u32x4 found[BATCH][RANKS];
    f32x2 own[BATCH], more[BATCH];
    UNROLL for (u32 k = 0; k < BATCH; k++) {
      const u32 at = min_of(slot + k * peers.stride, slots - 1);
      own[k] = pair_of(x, base + at, size);
      more[k] = addend_of(addend, base + at, size);
      peers.peek(epoch, at, found[k]);
    }
    UNROLL for (u32 k = 0; k < BATCH; k++) {
      const u32 at = slot + k * peers.stride;
      if (at < slots) store_pair(out, base + at, size, plus(peers.sum(epoch, at, own[k], found[k]), more[k]));
    }
  }
}

/// For few rows: every rank sends everything to all others and adds it up itself ("one-shot").
KERNEL(all_reduce, THREADS, const u32* count, const f32* x, const f32* addend, f32* out, u32 width, PEER_PARAMETERS) {
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  Peers peers = PEERS;
  const u32 size = used * width, pairs = (size + 1) / 2, slots = slots_of_pass(pairs, SLOTS);
  u32 epoch = state->epoch;
  for (u32 base = 0; base < pairs; base += slots) {
    epoch++;
    for (u32 slot = peers.first; slot < slots; slot += peers.stride) peers.send_all(epoch, slot, pair_of(x, base + slot, size));
    add_slots(peers, epoch, x, addend, out, size, base, slots);
  }
  peers.finish(epoch, blocks);
}

/// For few rows that the product which computed them has pushed (`matvec.hip`): what is left is to add them up.
KERNEL(add_pushed, THREADS, const u32* count, const f32* x, const f32* addend, f32* out, u32 width, PEER_PARAMETERS) {
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  Peers peers = PEERS;
  // Without rows nobody has sent anything, as nobody has counted.
  const u32 size = used * width, epoch = state->epoch + (size > 0 ? 1 : 0);
  add_slots(peers, epoch, x, addend, out, size, 0, (size + 1) / 2);
  peers.finish(epoch, blocks);
}

/// For many rows: every rank adds up a part and sends the sums to all others ("two-shot"). As many slots are used of every part, also
/// where the last has fewer numbers.
KERNEL(all_reduce_parts, THREADS, const u32* count, const f32* x, const f32* addend, f32* out, u32 width, PEER_PARAMETERS) {
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  Peers peers = PEERS;
  const u32 size = used * width, pairs = (size + 1) / 2, slots = slots_of_pass((pairs + RANKS - 1) / RANKS, SLOTS);
  u32 epoch = state->epoch;
  for (u32 base = 0; base < pairs; base += RANKS * slots) {
    epoch++;
    UNROLL for (u32 distance = 1; distance < RANKS; distance++) {
      const u32 part = base + (rank + distance) % RANKS * slots;
      for (u32 slot = peers.first; slot < slots; slot += peers.stride) {
        peers.send(distance, epoch, slot, pair_of(x, part + slot, size));
      }
    }
    const u32 own = base + rank * slots;
    epoch++;
    for (u32 slot = peers.first; slot < slots; slot += peers.stride) {
      u32x4 found[RANKS];
      peers.peek(epoch - 1, slot, found);
      f32x2 total = peers.sum(epoch - 1, slot, pair_of(x, own + slot, size), found);
      peers.send_all(epoch, slot, total);
      store_pair(out, own + slot, size, plus(total, addend_of(addend, own + slot, size)));
    }
    for (u32 sender = 0; sender < RANKS; sender++) {
      const u32 part = base + sender * slots;
      if (sender == rank) continue;
      for (u32 slot = peers.first; slot < slots; slot += peers.stride) {
        f32x2 total = peers.receive(epoch, sender, slot);
        store_pair(out, part + slot, size, plus(total, addend_of(addend, part + slot, size)));
      }
    }
  }
  peers.finish(epoch, blocks);
}

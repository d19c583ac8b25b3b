// The ranks' tensors side by side in every row.
#include "peers.h"

#define WIDTHS u32 width0, u32 width1, u32 width2, u32 width3, u32 width4, u32 width5, u32 width6, u32 width7

/// Number `index` of a rank's rows of `width`, in its columns of the whole.
DEVICE void place_number(f32* out, u32 index, u32 width, u32 column, u32 total, f32 value) {
  out[u64(index / width) * total + column + index % width] = value;
}
DEVICE void place_pair(f32* out, u32 pair, u32 size, u32 width, u32 column, u32 total, f32x2 value) {
  if (2 * pair < size) place_number(out, 2 * pair, width, column, total, value.x);
  if (2 * pair + 1 < size) place_number(out, 2 * pair + 1, width, column, total, value.y);
}

/// As many slots are used of every rank, also where one has fewer numbers than the widest.
KERNEL(all_gather, THREADS, const u32* count, const f32* x, f32* out, WIDTHS, PEER_PARAMETERS) {
  u32 rows = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  Peers peers = PEERS;
  const u32 widths[8] = {width0, width1, width2, width3, width4, width5, width6, width7};
  u32 widest = 0, total = 0, own = 0;
  UNROLL for (u32 other = 0; other < RANKS; other++) {
    if (other == rank) own = widths[other];
    widest = max_of(widest, widths[other]);
    total += widths[other];
  }
  const u32 pairs = (rows * widest + 1) / 2, slots = slots_of_pass(pairs, SLOTS), size = rows * own;
  u32 epoch = state->epoch;
  for (u32 base = 0; base < pairs; base += slots) {
    epoch++;
    for (u32 slot = peers.first; slot < slots; slot += peers.stride) peers.send_all(epoch, slot, pair_of(x, base + slot, size));
    u32 column = 0;
    UNROLL for (u32 sender = 0; sender < RANKS; sender++) {
      const u32 width = widths[sender], numbers = rows * width;
      for (u32 slot = peers.first; slot < slots; slot += peers.stride) {
        const u32 pair = base + slot;
        f32x2 value = sender == rank ? pair_of(x, pair, size) : peers.receive(epoch, sender, slot);
        place_pair(out, pair, numbers, width, column, total, value);
      }
      column += width;
    }
  }
  peers.finish(epoch, blocks);
}

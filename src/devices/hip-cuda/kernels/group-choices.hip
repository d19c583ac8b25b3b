// Sorts the choices of a batch's rows by expert, and cuts each expert's into tiles of at most TILE_ROWS, in one block. A choice is
// a row with one of its experts; the order of an expert's choices does not matter, as no result depends on it.
#include "prelude.h"

#define THREADS 512
/// Experts of a thread: neighbours, so that a sum over threads gives where each thread's begin.
constexpr i32 OWN = (EXPERTS + THREADS - 1) / THREADS;

/// Choices and tiles of some experts, in one word for one sum.
DEVICE u64 both(u32 choices) { return (u64((choices + TILE_ROWS - 1) / TILE_ROWS) << 32) | choices; }

DEVICE i32 expert_of(const i32* expert_ids, i32 choice) { return min_of(max_of(expert_ids[choice], 0), EXPERTS - 1); }

/// `order` gets the choices; `tiles`, of which there are `tile_count`, gets the expert of each, and where its choices begin and
/// end in `order`: nowhere for those that remain.
KERNEL(group_choices, THREADS, const i32* count, const i32* expert_ids, i32 top_k, i32* order, u32x4* tiles, i32 tile_count) {
  SHARED u32 found[EXPERTS];
  SHARED u64 sums[THREADS];
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  i32 choices = used * top_k;
  for (i32 e = thread(); e < EXPERTS; e += THREADS) found[e] = 0;
  barrier();
  for (i32 i = thread(); i < choices; i += THREADS) atomic_add(&found[expert_of(expert_ids, i)], 1u);
  barrier();
  i32 first = i32(thread()) * OWN, end = min_of(first + OWN, EXPERTS);
  u64 own = 0;
  for (i32 e = first; e < end; e++) own += both(found[e]);
  sums[thread()] = own;
  barrier();
  for (i32 step = 1; step < THREADS; step *= 2) {
    u64 before = i32(thread()) >= step ? sums[thread() - step] : 0;
    barrier();
    sums[thread()] += before;
    barrier();
  }
  u64 at = sums[thread()] - own;
  u32 all_tiles = u32(sums[THREADS - 1] >> 32);
  for (i32 e = first; e < end; e++) {
    u32 start = u32(at), tile = u32(at >> 32), stop = start + found[e];
    for (u32 from = start; from < stop; from += TILE_ROWS) tiles[tile++] = {u32(e), from, min_of(from + TILE_ROWS, stop), 0};
    at += both(found[e]);
    found[e] = start;
  }
  for (u32 tile = all_tiles + thread(); tile < u32(tile_count); tile += THREADS) tiles[tile] = {0, 0, 0, 0};
  barrier();
  for (i32 i = thread(); i < choices; i += THREADS) order[atomic_add(&found[expert_of(expert_ids, i)], 1u)] = i;
}

// Chooses the positions with the largest scores, a block a row and group of heads: the least score that is chosen by its digits from
// the highest on, of whose numbers a histogram is taken each; then every thread writes those among its neighbours, in their order.
//
//   SIZE     positions that are chosen together, by the largest of their scores      BLOCKS  of them; their scores are shared
//   LOCAL    blocks up to the row's own that are always chosen
#include "functions.h"

#define THREADS 256
#define DIGIT_BITS 8
#define DIGITS (1 << DIGIT_BITS)

/// Numbers in their order as unsigned words; both zeros are one, and NaN is negative infinity.
DEVICE u32 ordered(f32 value) {
  u32 bits = bit_cast<u32>(value + 0.0f);
  if ((bits & 0x7fffffffu) > 0x7f800000u) bits = 0xff800000u;
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

/// What is chosen among, in the order of their numbers: single positions, or blocks of which the last may be cut off.
struct Choices {
  const f32* line;
  const u32* best;

  DEVICE_MEMBER u32 word(i32 i) const {
#if SIZE == 1
    return ordered(line[i]);
#else
    return best[i];
#endif
  }
};

/// Positions above the least score that is chosen, and at it, in one word for one sum.
DEVICE u64 ranked(u32 word, u32 least) { return word > least ? u64(1) << 32 : u64(word == least); }

KERNEL(choose_positions, THREADS, const i32* count, const f32* scores, const i32* slots, const i32* positions, const i32* blocks,
       i32 blocks_per_slot, i32 block_size, i32* cells, i32* places, i32* limits, i32 groups, i32 width, i32 most) {
  SHARED u32 histogram[DIGITS];
  SHARED u64 sums[THREADS];
  SHARED u32 digit, wanted;
#if SIZE > 1
  SHARED u32 best[BLOCKS];
#else
  const u32* best = nullptr;
#endif
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  i32 row = block_x();
  if (row >= used) return;
  i32 place = row * groups + i32(block_y());
  i32 seen = min_of(positions[row] + 1, width), visible = (seen + SIZE - 1) / SIZE;
  const f32* line = scores + i64(place) * width;
  const i32* own_blocks = blocks + i64(slots[row]) * blocks_per_slot;
  i32* own = cells + i64(place) * most * SIZE;
  auto cell = [&](i32 p) { return own_blocks[p / block_size] * block_size + p % block_size; };
  if (thread() == 0) places[place] = place;
  if (visible <= most) {
    if (thread() == 0) limits[place] = seen - 1;
    for (i32 p = thread(); p < most * SIZE; p += THREADS) own[p] = p < seen ? cell(p) : 0;
    return;
  }
#if SIZE > 1
  for (i32 b = thread(); b < visible; b += THREADS) {
    u32 word = 0;
    for (i32 p = b * SIZE; p < min_of((b + 1) * SIZE, seen); p++) word = max_of(word, ordered(line[p]));
    best[b] = b >= visible - LOCAL ? 0xffffffffu : word;
  }
  barrier();
#endif
  Choices choices = {line, best};
  if (thread() == 0) wanted = most;
  u32 least = 0;
  for (i32 shift = 32 - DIGIT_BITS; shift >= 0; shift -= DIGIT_BITS) {
    for (i32 d = thread(); d < DIGITS; d += THREADS) histogram[d] = 0;
    barrier();
    for (i32 p = thread(); p < visible; p += THREADS) {
      u32 word = choices.word(p);
      // Only those that begin with the digits found so far.
      if (u64(word) >> (shift + DIGIT_BITS) == u64(least) >> (shift + DIGIT_BITS)) {
        atomic_add(&histogram[(word >> shift) & (DIGITS - 1)], 1u);
      }
    }
    barrier();
    if (thread() == 0) {
      u32 d = DIGITS - 1, left = wanted;
      for (; histogram[d] < left; d--) left -= histogram[d];
      digit = d;
      wanted = left;
    }
    barrier();
    least |= digit << shift;
  }
  i32 share = (visible + THREADS - 1) / THREADS;
  i32 begin = min_of(i32(thread()) * share, visible), end = min_of(begin + share, visible);
  u64 found = 0;
  for (i32 p = begin; p < end; p++) found += ranked(choices.word(p), least);
  sums[thread()] = found;
  barrier();
  for (i32 step = 1; step < THREADS; step *= 2) {
    u64 before = i32(thread()) >= step ? sums[thread() - step] : 0;
    barrier();
    sums[thread()] += before;
    barrier();
  }
  u64 before = sums[thread()] - found;
  u32 above = u32(before >> 32), equal = u32(before);
  for (i32 p = begin; p < end; p++) {
    u64 rank = ranked(choices.word(p), least);
    i32 at = i32(above + min_of(equal, wanted)) * SIZE;
    bool chosen = rank >> 32 || (rank && equal < wanted);
    for (i32 i = 0; chosen && i < SIZE; i++) own[at + i] = p * SIZE + i < seen ? cell(p * SIZE + i) : 0;
    // Only the last of them may be cut off, which is chosen last if it is.
    if (p == visible - 1) limits[place] = most * SIZE - (chosen ? visible * SIZE - seen : 0) - 1;
    above += u32(rank >> 32);
    equal += u32(rank);
  }
}

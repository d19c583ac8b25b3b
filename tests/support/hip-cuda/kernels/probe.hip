// Kernels that do one thing each, right or wrong, for the tests of the emulator and the launcher.
#include "formats/numbers.h"
#include "reduce.h"

KERNEL(copy_index, 64, const f32* from, f32* to, i32 index) { to[thread()] = from[index]; }

// Reverses a block through shared memory; without the barrier when told so.
KERNEL(reverse, 256, f32* values, i32 with_barrier) {
  SHARED f32 shared[256];
  const u32 index = thread();
  shared[index] = values[block_x() * 256 + index];
  if (with_barrier) barrier();
  values[block_x() * 256 + index] = shared[255 - index];
}

// Half of a wave waits for a shuffle that the other half never joins.
KERNEL(diverge, 64, f32* values) {
  f32 value = values[thread()];
  if (thread() % 2 == 0) value = warp_sum(value);
  else barrier();
  values[thread()] = value;
}

KERNEL(wave_facts, 128, u32* lanes, f32* sums, f32* maxima) {
  const u32 index = thread();
  lanes[index] = lane();
  sums[index] = warp_sum(static_cast<f32>(index));
  maxima[index] = warp_max(static_cast<f32>(index % LANES));
}

KERNEL(dot4_of, 64, const i32* a, const i32* b, i32* out) {
  out[thread()] = dot4(a[thread()], b[thread()], 1000);
}

KERNEL(small_numbers, 256, f32* powers, f32* floats) {
  powers[thread()] = half_power(thread());
  floats[thread()] = half_e4m3(thread());
}

KERNEL(count_all, 64, u32* counter, u64* sum) {
  atomic_add(counter, 1u);
  atomic_add(sum, u64(1) << 33);
}

KERNEL(fill_dynamic, 64, u32* out) {
  DYNAMIC_SHARED(bytes);
  u32* shared = reinterpret_cast<u32*>(bytes);
  shared[thread()] = thread() * 3;
  barrier();
  out[thread()] = shared[63 - thread()];
}

// Tells a peer and waits for it: only kernels of two cards that run at the same time end.
KERNEL(meet, 64, u32* own, u32* peers) {
  store_system(peers + thread(), 1u);
  while (load_system(own + thread()) != 1) spin_pause();
  own[64 + thread()] = 2;
}

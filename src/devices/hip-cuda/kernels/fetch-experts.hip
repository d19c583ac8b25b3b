// Copies the experts that a batch chose, and that have no copy on the device, from the host's memory into scratch, each once: products
// of many rows read a matrix again for every tile of rows, which the link to the host would carry each time. Lanes read side by side.
#include "hot-experts.h"

#define THREADS 256
/// Sixteen bytes each that a thread has on their way.
constexpr i32 DEPTH = 8, BLOCK_OCTETS = THREADS * DEPTH;

/// `tiles` as group-choices.hip makes them: those of one expert stand side by side. `fetched` has room for all experts.
KERNEL(fetch_experts, THREADS, const u32x4* tiles, const u8* weight, const i32* slots, u8* fetched, i32 pages) {
  grid_launch_dependents();
  grid_dependency_wait();
  u32x4 own = tiles[block_y()];
  if (own.y >= own.z || slots[own.x] >= 0) return;
  if (block_y() > 0 && tiles[block_y() - 1].x == own.x) return;
  i64 matrix = i64(own.x) * pages * PAGE_BYTES, octets = i64(pages) * (PAGE_BYTES / 16);
  const u32x4* from = reinterpret_cast<const u32x4*>(weight + matrix);
  u32x4* to = reinterpret_cast<u32x4*>(fetched + matrix);
  i64 first = i64(block_x()) * BLOCK_OCTETS + thread();
  u32x4 values[DEPTH];
  UNROLL for (i32 i = 0; i < DEPTH; i++) {
    if (first + i * THREADS < octets) values[i] = load_streaming(from + first + i * THREADS);
  }
  UNROLL for (i32 i = 0; i < DEPTH; i++) {
    if (first + i * THREADS < octets) to[first + i * THREADS] = values[i];
  }
}

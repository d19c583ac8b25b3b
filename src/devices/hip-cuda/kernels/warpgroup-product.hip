// Matrix products of many rows on Hopper, by packed weights. Each of a block's WARPGROUPS computes 64 lines of weights by a tile of TILE_ROWS
// rows: it decodes weights in registers while the products of those before run. One more has the copy engine bring the rows' activations to a
// ring in shared memory. A multiprocessor has one block.
//
//   UNIT    octet indices of a chunk of k that are multiplied at once: with more, warps wait for one another less, and take more registers
//   OUTPUT  as in product-outputs.h; a lane has a gate and the up of the same output
#define GRID_COPIED
#if OUTPUT == 2
#define QUICK_SIGMOID
#endif
#include "activation.h"
#include "decode.h"
#include "product-outputs.h"
#include "warpgroup.h"

#define WARPS (4 * WARPGROUPS)
#define THREADS (WARPS * MATRIX_LANES)
#define COPYING_THREADS 128
constexpr i32 LINES = 16 * WARPS, SUMS = TILE_ROWS / 2, UNITS = MATRIX_PARTS / UNIT;
/// Rows that are copied at once: a slab's, or some of one.
constexpr i32 COPIED_ROWS = TILE_ROWS < SLAB_ROWS ? TILE_ROWS : SLAB_ROWS, ROW_COPIES = TILE_ROWS / COPIED_ROWS;
constexpr i32 SLAB_BYTES = 2 * SLAB_HALVES, COPIED_BYTES = SLAB_BYTES / SLAB_ROWS * COPIED_ROWS, PART_BYTES = ROW_COPIES * COPIED_BYTES;
/// The ring's places have a unit each.
constexpr i32 RING_BYTES = 131072, PLACE_BYTES = UNIT * PART_BYTES, PLACES = RING_BYTES / PLACE_BYTES < 16 ? RING_BYTES / PLACE_BYTES : 16;
static_assert((PLACES & (PLACES - 1)) == 0 && 4 * LINES * TILE_ROWS <= RING_BYTES, "places are counted by masks, and the ring has room for a tile's sums");
/// The named barrier of the warps that multiply.
constexpr i32 MULTIPLYING = 1;
/// Registers of a thread that multiplies, and of one that copies: together no more than the block begins with.
constexpr i32 REGISTERS = WARPGROUPS == 4 ? 112 : WARPGROUPS == 3 ? 160 : 240, COPYING_REGISTERS = 24;
constexpr i32 ALL_THREADS = THREADS + COPYING_THREADS, ALL_REGISTERS = 65536 / ALL_THREADS / 8 * 8 * ALL_THREADS;
static_assert(REGISTERS * THREADS + COPYING_REGISTERS * COPYING_THREADS <= ALL_REGISTERS, "who takes registers waits for those that others leave");

/// A block's tiles, of so many groups of lines by the tiles of rows in use, and the chunks of k that it multiplies of them: all, or a part where
/// blocks divide k, those of a cluster or of a column of the grid.
struct Work {
  i32 at, step, first, groups, begin, chunks;

  DEVICE_MEMBER Work(i32 first, i32 groups, i32 all) : first(first), groups(groups) {
    i32 cluster = i32(cluster_blocks()), parts = cluster * i32(blocks_y()), part = i32(cluster_block() + block_y());
    at = i32(block_x()) / cluster, step = i32(blocks_x()) / cluster;
    begin = all * part / parts, chunks = all * (part + 1) / parts - begin;
  }
  DEVICE_MEMBER bool has_tile(i32 down) const { return at < groups * down; }
  /// The tile's lines and rows.
  DEVICE_MEMBER i32 group(i32 down) const { return first + at / down; }
  DEVICE_MEMBER i32 row_tile(i32 down) const { return at % down; }
};

struct Weights {
  P::Q::Planes quants;
  P::S::Planes scales;
  /// The lines' first groups of the block's part of k, of which there are fewer than 2^32: so addresses are cheap.
  u32 starts[MATRIX_LINES];
  /// The last group, counted from the first.
  i32 last;

  DEVICE_MEMBER void load(i32 chunk, RawGroup* raw) const {
    // Groups beyond the row's end repeat its last: they meet zeros.
    u32 own = group_step(min_of(chunk * MATRIX_PARTS + matrix_part(), last));
    UNROLL for (i32 l = 0; l < MATRIX_LINES; l++) {
      i64 group = starts[l] + own;
      raw[l] = {P::Q::load(quants, group), P::S::load(scales, group)};
    }
  }
};

/// The ring, and the barriers of its places: those that are full, and those that are empty again.
struct Ring {
  SharedAddress at;

  DEVICE_MEMBER SharedAddress place(u32 index) const { return at + index % PLACES * PLACE_BYTES; }
  DEVICE_MEMBER SharedAddress full(u32 index) const { return at + RING_BYTES + 8 * (index % PLACES); }
  DEVICE_MEMBER SharedAddress empty(u32 index) const { return at + RING_BYTES + 8 * PLACES + 8 * (index % PLACES); }
  /// The parity of the phase in which a place has the unit `index`.
  DEVICE_MEMBER static u32 parity(u32 index) { return index / PLACES & 1; }
};

/// Brings the units of all tiles, one after another, each as soon as a place for it is empty.
DEVICE void copy_rows(Work work, const Ring& ring, const u8* x, i32 used, i32 all_chunks) {
  const i32 slab_step = all_chunks * MATRIX_PARTS * SLAB_BYTES, copies = (used + COPIED_ROWS - 1) / COPIED_ROWS;
  u32 index = 0;
  i32 down = (used + TILE_ROWS - 1) / TILE_ROWS;
  for (; work.has_tile(down); work.at += work.step) {
    // In place of rows that are not in use come the last that are: their sums are unused.
    const u8* from[ROW_COPIES];
    UNROLL for (i32 c = 0; c < ROW_COPIES; c++) {
      i32 row = min_of(work.row_tile(down) * ROW_COPIES + c, copies - 1) * COPIED_ROWS;
      from[c] = x + i64(row / SLAB_ROWS) * slab_step + row % SLAB_ROWS * (SLAB_BYTES / SLAB_ROWS) + work.begin * MATRIX_PARTS * SLAB_BYTES;
    }
    for (i32 unit = 0; unit < work.chunks * UNITS; unit++, index++) {
      if (index >= PLACES) wait_for_phase(ring.empty(index), Ring::parity(index - PLACES));
      arrive_for_copies(ring.full(index), PLACE_BYTES);
      UNROLL for (i32 i = 0; i < UNIT; i++) {
        UNROLL for (i32 c = 0; c < ROW_COPIES; c++) {
          copy_to_shared(ring.place(index) + i * PART_BYTES + c * COPIED_BYTES, from[c] + (unit * UNIT + i) * SLAB_BYTES, COPIED_BYTES,
                         ring.full(index));
        }
      }
    }
  }
}

/// Of so many groups of lines from the group `first` on; a step has room for `capacity_down` tiles of rows. Where columns of the grid divide k, each
/// writes sums of its own, `apart` numbers behind those of the one before.
KERNEL_RESIDENT(warpgroup_product, THREADS + COPYING_THREADS, 1, const i32* count, const u8* x, const u8* weight, i32 outputs, i32 groups,
                const f32* addend, void* y, i32 apart, i32 capacity_down, i32 first_lines, i32 line_groups) {
  DYNAMIC_SHARED(shared);
  i32 warp = thread() / MATRIX_LANES, all_chunks = (groups + MATRIX_PARTS - 1) / MATRIX_PARTS;
  Ring ring = {(shared_address(shared) + 127) & ~127u};
  if (thread() == 0) {
    for (u32 index = 0; index < PLACES; index++) init_barrier(ring.full(index), 1), init_barrier(ring.empty(index), WARPS);
    fence_barriers();
  }
  barrier();
  Work work(first_lines, line_groups, all_chunks);
  if (warp >= WARPS) {
    leave_registers<COPYING_REGISTERS>();
    grid_launch_dependents();
    grid_dependency_wait();
    if (warp == WARPS && lane() == 0) copy_rows(work, ring, x, *count, all_chunks);
    return;
  }
  take_registers<REGISTERS>();
  PlaneCursor cursor = {const_cast<u8*>(weight)};
  Weights weights;
  weights.quants = P::Q::planes(cursor, tiled_groups(i64(PARTS) * outputs, groups));
  weights.scales = P::S::planes(cursor, tiled_groups(i64(PARTS) * outputs, groups));
  weights.last = groups - 1 - work.begin * MATRIX_PARTS;
  P::prepare(THREADS);
  RawGroup next[MATRIX_LINES];
  auto start_loads = [&](i32 group) {
    i32 first = group * LINES + 16 * warp;
    UNROLL for (i32 l = 0; l < MATRIX_LINES; l++) {
      i32 n = PARTS == 1 ? first + matrix_line(l) : first / 2 + matrix_line(0);
      u32 row = u32(min_of(n, outputs - 1) + (PARTS == 1 ? 0 : l * outputs));
      weights.starts[l] = row_start(row, groups) + group_step(work.begin * MATRIX_PARTS);
    }
    weights.load(0, next);
  };
  // As if all rows were in use, until it is known how many are.
  i32 guess = work.has_tile(capacity_down) ? work.group(capacity_down) : -1;
  if (guess >= 0) start_loads(guess);
  grid_launch_dependents();
  grid_dependency_wait();
  barrier_of(MULTIPLYING, THREADS);
  i32 used = *count, down = (used + TILE_ROWS - 1) / TILE_ROWS;
  if (work.has_tile(down) && work.group(down) != guess) start_loads(work.group(down));
  u64 columns = columns_at(ring.at);
  u32 index = 0;
  while (work.has_tile(down)) {
    f32 sums[SUMS];
    UNROLL for (i32 i = 0; i < SUMS; i++) sums[i] = 0;
    for (i32 chunk = 0; chunk < work.chunks; chunk++) {
      P::Entries entries[MATRIX_LINES];
      PairedScales scales[MATRIX_LINES];
      UNROLL for (i32 l = 0; l < MATRIX_LINES; l++) {
        entries[l] = P::entries(next[l].quants);
        scales[l] = paired_scales(next[l].scales);
      }
      if (chunk + 1 < work.chunks) weights.load(chunk + 1, next);
      UNROLL for (i32 unit = 0; unit < UNITS; unit++, index++) {
        u32x4 upper[UNIT], lower[UNIT];
        UNROLL for (i32 i = 0; i < UNIT; i++) {
          upper[i] = decode_octet(entries[0], scales[0], unit * UNIT + i), lower[i] = decode_octet(entries[1], scales[1], unit * UNIT + i);
        }
        wait_for_phase(ring.full(index), Ring::parity(index));
        UNROLL for (i32 i = 0; i < UNIT; i++) settle(upper[i]), settle(lower[i]);
        warpgroup_arrive();
        UNROLL for (i32 i = 0; i < UNIT; i++) {
          u64 left = columns + (index % PLACES * PLACE_BYTES + i * PART_BYTES) / 16, right = left + 256 / 16;
          multiply_warpgroup(Columns<TILE_ROWS>{}, sums, upper[i].x, lower[i].x, upper[i].y, lower[i].y, left);
          multiply_warpgroup(Columns<TILE_ROWS>{}, sums, upper[i].z, lower[i].z, upper[i].w, lower[i].w, right);
        }
        warpgroup_commit();
        warpgroup_wait<1>();
        // The products before these have ended.
        if (lane() == 0 && index > 0) arrive(ring.empty(index - 1));
      }
    }
    i32 first_row = work.row_tile(down) * TILE_ROWS, first_line = work.group(down) * LINES + 16 * warp;
    work.at += work.step;
    if (work.has_tile(down)) start_loads(work.group(down));
    warpgroup_wait<0>();
    UNROLL for (i32 i = 0; i < SUMS; i++) settle(sums[i]);
    // Writes a lane's four results of the tile's rows from 8 * `eighth` on.
    auto write = [&](i32 eighth, f32x4 of) {
      constexpr f32 UNSCALED = 1.0f / WEIGHT_SCALE;
      i32 row = first_row + 8 * eighth + matrix_column(0);
#if OUTPUT == 2
      // Of two neighbours in f16, n and n + 2, a lane writes those of one row.
      i32 n = first_line / 2 + matrix_line(0);
      bool is_second = n & 2;
      f32 one = gated(of.x * UNSCALED, of.z * UNSCALED), other = gated(of.y * UNSCALED, of.w * UNSCALED);
      f32 neighbour = shuffle_xor(is_second ? one : other, 8);
      f32 first = is_second ? neighbour : one, second = is_second ? other : neighbour;
      row += is_second ? 1 : 0;
      if (row < used && n < outputs) {
        *reinterpret_cast<u32*>(static_cast<u16*>(y) + half_place(row, outputs, n & ~2)) = pack_half2(clamp_half(first), clamp_half(second));
      }
#else
      bool has_second = row + 1 < used;
      if (row >= used) return;
#if OUTPUT < 2
      void* to = static_cast<f32*>(y) + i64(block_y()) * apart;
      i32 n = first_line + matrix_line(0), second = first_line + matrix_line(1);
      if (n < outputs) write_output(to, addend, row, n, outputs, of.x * UNSCALED);
      if (n < outputs && has_second) write_output(to, addend, row + 1, n, outputs, of.y * UNSCALED);
      if (second < outputs) write_output(to, addend, row, second, outputs, of.z * UNSCALED);
      if (second < outputs && has_second) write_output(to, addend, row + 1, second, outputs, of.w * UNSCALED);
#else
      i32 n = first_line / 2 + matrix_line(0);
      if (n >= outputs) return;
      write_gated(y, row, n, outputs, of.x * UNSCALED, of.z * UNSCALED);
      if (has_second) write_gated(y, row + 1, n, outputs, of.y * UNSCALED, of.w * UNSCALED);
#endif
#endif
    };
    if (cluster_blocks() == 1) {
      UNROLL for (i32 e = 0; e < TILE_ROWS / 8; e++) write(e, {sums[4 * e], sums[4 * e + 1], sums[4 * e + 2], sums[4 * e + 3]});
      continue;
    }
    // A cluster has one tile. Its blocks add up a part of it each, in the place of the ring, whose units all have come and been multiplied.
    barrier_of(MULTIPLYING, THREADS);
    SharedAddress own = ring.at + 16 * thread();
    UNROLL for (i32 e = 0; e < TILE_ROWS / 8; e++) {
      store_shared_16(own + 16 * THREADS * e, {sums[4 * e], sums[4 * e + 1], sums[4 * e + 2], sums[4 * e + 3]});
    }
    cluster_barrier();
    for (i32 e = i32(cluster_block()); e < TILE_ROWS / 8; e += i32(cluster_blocks())) {
      f32x4 total = {0, 0, 0, 0};
      for (u32 block = 0; block < cluster_blocks(); block++) {
        f32x4 of = load_from_block(own + 16 * THREADS * e, block);
        total = {total.x + of.x, total.y + of.y, total.z + of.z, total.w + of.w};
      }
      write(e, total);
    }
    // No block ends while others read its sums.
    cluster_barrier();
  }
}

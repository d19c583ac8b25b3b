// Matrix products of many rows on Hopper. Each of a block's two warpgroups computes 64 outputs of the same rows: it decodes weights in
// registers while the products of those before run. The rows' activations are copied to shared memory once for the block; read by each
// warp for itself, they would be several times the bytes of the weights.
//
//   SPLITS   blocks that divide k: each writes sums of its own, `apart` numbers behind those of the one before
//   OUTPUT   as in product-outputs.h
#include "activation.h"
#include "decode.h"
#include "product-outputs.h"
#include "warpgroup.h"

#define WARPS 8
#define THREADS (WARPS * MATRIX_LANES)
constexpr i32 BLOCK_OUTPUTS = 16 * WARPS;
/// Chunks of k whose weights are on their way to registers, and of which the ring has the activations: with one alone, a block would
/// wait for memory.
constexpr i32 DEPTH = 2, STAGES = 4;
/// A warp copies every WARPS-th eight of the rows.
constexpr i32 EIGHTS = TILE_ROWS / 8, OWN_EIGHTS = EIGHTS / WARPS;
static_assert(EIGHTS % WARPS == 0, "each warp copies as many rows");
/// Of a part of a chunk of k, plane w has word w of the four groups' octets for all rows. The bytes between planes avoid bank conflicts.
constexpr i32 PLANES = 4, PLANE_BYTES = 128 * EIGHTS + 32, PART_BYTES = PLANES * PLANE_BYTES, CHUNK_BYTES = MATRIX_PARTS * PART_BYTES;
constexpr i32 SUMS = TILE_ROWS / 2;
/// Sums of a row stand this far apart, to avoid bank conflicts.
constexpr i32 SUM_STRIDE = BLOCK_OUTPUTS + 4;

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

/// What a lane copies of each chunk of the rows: words, each to the plane of its index in its octet.
struct Copies {
  const u32* starts[OWN_EIGHTS][4];
  SharedAddress to;
  i32 chunks;

  /// Starts to copy a chunk to one of the ring's places.
  DEVICE_MEMBER void send(i32 chunk, i32 place) const {
    if (chunk < chunks) {
      UNROLL for (i32 e = 0; e < OWN_EIGHTS; e++) {
        UNROLL for (i32 part = 0; part < MATRIX_PARTS; part++) {
          SharedAddress at = to + place * CHUNK_BYTES + part * PART_BYTES + WARPS * e * 128;
          UNROLL for (i32 j = 0; j < 4; j++) cp_async_4(at + 32 * j, starts[e][j] + 4 * (chunk * CHUNK_OCTETS + CHUNK_GROUPS * part));
        }
      }
    }
    cp_async_commit();
  }
};

KERNEL_RESIDENT(warpgroup_product, THREADS, RESIDENT, const i32* count, const u32* x, const u8* weight, i32 outputs, i32 groups,
                const f32* addend, void* y, i32 apart) {
  DYNAMIC_SHARED(shared);
  i32 used = *count;
  i32 warp = thread() / MATRIX_LANES, chunks = (groups + MATRIX_PARTS - 1) / MATRIX_PARTS;
  // Chunks are counted from the block's first.
  i32 part = (chunks + SPLITS - 1) / SPLITS, begin = SPLITS > 1 ? i32(block_z()) * part : 0;
  chunks = min_of(part, chunks - begin);
  PlaneCursor cursor = {const_cast<u8*>(weight)};
  Weights weights;
  weights.quants = P::Q::planes(cursor, tiled_groups(i64(PARTS) * outputs, groups));
  weights.scales = P::S::planes(cursor, tiled_groups(i64(PARTS) * outputs, groups));
  weights.last = groups - 1 - begin * MATRIX_PARTS;
  UNROLL for (i32 l = 0; l < MATRIX_LINES; l++) {
    u32 row = u32(weight_row(block_x() * BLOCK_OUTPUTS, 16 * warp + matrix_line(l), outputs));
    weights.starts[l] = row_start(row, groups) + group_step(begin * MATRIX_PARTS);
  }
  RawGroup next[DEPTH][MATRIX_LINES];
  UNROLL for (i32 d = 0; d < DEPTH; d++) weights.load(d, next[d]);
  grid_launch_dependents();
  grid_dependency_wait();
  i32 first_row = block_y() * TILE_ROWS;
  if (first_row >= used) return;
  SharedAddress ring = shared_address(shared);
  i32 half = lane() >> 4, word = lane() & 15;
  Copies copies;
  copies.chunks = chunks;
  copies.to = ring + (word & 3) * PLANE_BYTES + 128 * warp + 16 * half + 4 * (word >> 2);
  UNROLL for (i32 e = 0; e < OWN_EIGHTS; e++) {
    UNROLL for (i32 j = 0; j < 4; j++) {
      // Lines without a row read some other row, each another: their sums are unused.
      i32 line = first_row + 8 * (warp + WARPS * e) + 2 * j + half;
      i64 row = line < used ? line : line % used;
      copies.starts[e][j] = x + row * (padded_width(32 * groups) / 2) + 4 * CHUNK_OCTETS * begin + word;
    }
  }
  // A copy takes the place of the chunk before the last, all of whose products have ended.
  UNROLL for (i32 s = 0; s < STAGES - 2; s++) copies.send(s, s);
  f32 sums[SUMS] = {};
  for (i32 chunk = 0; chunk < chunks; chunk++) {
    cp_async_wait<STAGES - 3>();
    fence_for_products();
    barrier();
    copies.send(chunk + STAGES - 2, (chunk + STAGES - 2) % STAGES);
    P::Entries entries[MATRIX_LINES];
    PairedScales scales[MATRIX_LINES];
    UNROLL for (i32 l = 0; l < MATRIX_LINES; l++) {
      entries[l] = P::entries(next[0][l].quants);
      scales[l] = paired_scales(next[0][l].scales);
      UNROLL for (i32 d = 1; d < DEPTH; d++) next[d - 1][l] = next[d][l];
    }
    if (chunk + DEPTH < chunks) weights.load(chunk + DEPTH, next[DEPTH - 1]);
    UNROLL for (i32 f = 0; f < MATRIX_PARTS; f++) {
      u32x4 upper = decode_octet(entries[0], scales[0], f), lower = decode_octet(entries[1], scales[1], f);
      SharedAddress columns = ring + chunk % STAGES * CHUNK_BYTES + f * PART_BYTES;
      u64 left = columns_at(columns, PLANE_BYTES), right = columns_at(columns + 2 * PLANE_BYTES, PLANE_BYTES);
      settle(upper);
      settle(lower);
      warpgroup_arrive();
      multiply_warpgroup(Columns<TILE_ROWS>{}, sums, upper.x, lower.x, upper.y, lower.y, left);
      multiply_warpgroup(Columns<TILE_ROWS>{}, sums, upper.z, lower.z, upper.w, lower.w, right);
      warpgroup_commit();
      warpgroup_wait<1>();
    }
  }
  warpgroup_wait<0>();
  UNROLL for (i32 i = 0; i < SUMS; i++) settle(sums[i]);
  cp_async_wait<0>();
  barrier();
  f32* own = reinterpret_cast<f32*>(shared);
  UNROLL for (i32 i = 0; i < SUMS; i++) {
    own[(8 * (i / 4) + matrix_column(i & 3)) * SUM_STRIDE + 16 * warp + matrix_row(i & 3)] = sums[i] * (1.0f / WEIGHT_SCALE);
  }
  barrier();
  constexpr i32 WIDTH = BLOCK_OUTPUTS / PARTS;
  if (SPLITS > 1) y = static_cast<f32*>(y) + i64(block_z()) * apart;
  for (i32 i = thread(); i < TILE_ROWS * WIDTH; i += THREADS) {
    i32 row = i / WIDTH, line = i % WIDTH, n = i32(block_x()) * WIDTH + line;
    if (first_row + row >= used || n >= outputs) continue;
    const f32* of = own + row * SUM_STRIDE;
#if OUTPUT < 2
    write_output(y, addend, first_row + row, n, outputs, of[line]);
#else
    i32 gate = (line & ~15) * 2 + (line & 15);
    write_gated(y, first_row + row, n, outputs, of[gate], of[gate + 16]);
#endif
  }
}

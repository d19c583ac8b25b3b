// Matrix products for many rows: a wave takes chunks of k in turn, decodes its weights in registers and multiplies them with
// f16 activations on the matrix cores; the waves' sums meet in shared memory. A wave computes TILE_OUTPUTS outputs of TILE_ROWS rows. Of a
// block's WAVES waves, SHARE neighbours take the same chunks for different outputs, so that they copy activations once for all of
// them: many rows are otherwise read more often than the weights. In a chunk, each part of the wave's lanes has a group of its own.
//
//   DEPTH    chunks of weights that are on their way to a wave's registers: with few waves, one alone would wait for memory
//   AHEAD    chunks of activations that are on their way to a team's shared memory, where copies run beside the computation
//   SPLITS   blocks that divide k: each writes sums of its own, `apart` numbers behind those of the one before
//   OUTPUT   as in product-outputs.h
#define FETCHES_WIDE
#include "activation.h"
#define GRID_COPIED
#include "decode.h"
#include "matrix.h"
#include "product-outputs.h"

#define THREADS (WAVES * MATRIX_LANES)
constexpr i32 OUTPUT_TILES = TILE_OUTPUTS / 16, ROW_TILES = (TILE_ROWS + 15) / 16;
/// Rows that a lane has of a fragment, and sums: half of them where a tile has eight rows.
constexpr i32 ROW_LINES = TILE_ROWS < 16 ? MATRIX_LINES / 2 : MATRIX_LINES, ROW_SUMS = MATRIX_SUMS / MATRIX_LINES * ROW_LINES;
/// Waves with the same outputs, and outputs of the block.
constexpr i32 TEAMS = WAVES / SHARE, BLOCK_LINES = SHARE * TILE_OUTPUTS;
/// Activations that a lane holds of one fragment's k, in 16 bytes.
constexpr i32 LANE_OCTETS = ROW_TILES * ROW_LINES * FRAGMENT_OCTETS;
#if TILE_ROWS < 16
#define MULTIPLY multiply_left
#else
#define MULTIPLY multiply
#endif
/// Sums of a row stand this far apart, to avoid bank conflicts.
constexpr i32 SUM_STRIDE = TILE_OUTPUTS + 4;

// Where copies run beside the computation, a team's next activations are on their way to a ring of chunks in memory of its own. Each wave
// copies a part of a chunk; the lanes of a wave that shares with no other read what they have copied themselves, and nobody waits.
#ifdef GPU_NVIDIA
#define COPIED 1
#else
#define COPIED 0
#endif
static_assert(SHARE == 1 || COPIED, "waves share what they copy");
/// Whether what sums are added to comes to shared memory with the first activations.
#define ADDS_COPIED (OUTPUT == 1 && COPIED && TILE_ROWS <= 16)
/// Whether a wave asks for its next weights before it multiplies a chunk, or behind that, when the chunk's registers are free: of several
/// chunks, others are on their way meanwhile.
constexpr bool EARLY = !COPIED;
/// Copies of all lanes that a chunk of the rows takes, those of a wave, and of these how many neighbours are of one row.
constexpr i32 CHUNK_COPIES = MATRIX_PARTS * LANE_OCTETS, OWN_COPIES = (CHUNK_COPIES + SHARE - 1) / SHARE;
constexpr i32 ROW_COPIES = MATRIX_PARTS % SHARE == 0 ? MATRIX_PARTS / SHARE : 1;
constexpr i32 SLOT_OCTETS = CHUNK_COPIES * MATRIX_LANES, RING_BYTES = COPIED * (AHEAD + 1) * SLOT_OCTETS * 16;
constexpr i32 SUM_BYTES = TILE_ROWS * SUM_STRIDE * 4;
constexpr i32 TEAM_BYTES = RING_BYTES > SHARE * SUM_BYTES ? RING_BYTES : SHARE * SUM_BYTES;

struct Weights {
  P::Q::Planes quants;
  P::S::Planes scales;
  /// The lines' first groups, of which there are fewer than 2^32: so addresses are cheap.
  u32 starts[OUTPUT_TILES][MATRIX_LINES];
  i32 groups;

  DEVICE_MEMBER void load(i32 chunk, RawGroup (*raw)[MATRIX_LINES]) const {
    // Groups beyond the row's end repeat its last: they meet zeros.
    u32 own = group_step(min_of(chunk * MATRIX_PARTS + matrix_part(), groups - 1));
    UNROLL for (i32 o = 0; o < OUTPUT_TILES; o++) {
      UNROLL for (i32 l = 0; l < MATRIX_LINES; l++) {
        i64 group = starts[o][l] + own;
        raw[o][l] = {P::Q::load(quants, group), P::S::load(scales, group)};
      }
    }
  }
};

/// A row of the tile's `line` that exists: lines without one read some other, each another, and their sums are unused.
DEVICE i32 row_of(i32 first_row, i32 line, i32 used) {
  i32 row = first_row + 16 * (line / ROW_LINES) + matrix_line(line % ROW_LINES);
  return row < used ? row : row % used;
}

#if COPIED
/// What a lane copies of the rows: copy `k * SHARE + wave % SHARE` of a chunk, of which MATRIX_PARTS are one row's.
struct Rows {
  const u32x4* x;
  u32 starts[OWN_COPIES / ROW_COPIES];
  SharedAddress ring;
  i32 wave, end;

  DEVICE_MEMBER void start(i32 first_row, i32 used, i32 octets) {
    UNROLL for (i32 k = 0; k < OWN_COPIES; k += ROW_COPIES) {
      i32 copy = k * SHARE + wave % SHARE;
      i32 row = row_of(first_row, copy / MATRIX_PARTS, used);
      starts[k / ROW_COPIES] = row * octets + CHUNK_GROUPS * (copy % MATRIX_PARTS) + matrix_part();
    }
  }
  /// Starts to copy the wave's part of a chunk to a slot.
  DEVICE_MEMBER void send(i32 chunk, i32 slot) const {
    if (chunk < end) {
      SharedAddress to = ring + 16 * (slot * SLOT_OCTETS + wave % SHARE * MATRIX_LANES + lane());
      UNROLL for (i32 k = 0; k < OWN_COPIES; k++) {
        if (CHUNK_COPIES % SHARE != 0 && k * SHARE + wave % SHARE >= CHUNK_COPIES) break;
        const u32x4* from = x + (starts[k / ROW_COPIES] + chunk * CHUNK_OCTETS) + k % ROW_COPIES * SHARE * CHUNK_GROUPS;
        // Few rows stay in the multiprocessor's cache until its other blocks copy them; many only pass through it.
        if (TILE_ROWS <= 16) cp_async_cached_16(to + 16 * k * SHARE * MATRIX_LANES, from);
        else cp_async_16(to + 16 * k * SHARE * MATRIX_LANES, from);
      }
    }
    cp_async_commit();
  }
  /// Waits for the chunk of a slot, and sends the one that takes the place of the chunk before it, which all have read.
  DEVICE_MEMBER void turn(i32 chunk, i32 slot) const {
    i32 free = slot == 0 ? AHEAD : slot - 1;
    if (SHARE > 1) {
      cp_async_wait<AHEAD - 1>();
      barrier_of(1 + wave / SHARE, SHARE * MATRIX_LANES);
    }
    send(chunk + AHEAD * TEAMS, free);
    if (SHARE == 1) cp_async_wait<AHEAD>();
  }
};
#endif

/// The teams' sums for an output of the block and a row of the tile.
DEVICE f32 sum_of_teams(const u8* shared, i32 row, i32 output) {
  const u8* own = shared + output / TILE_OUTPUTS * SUM_BYTES;
  f32 sum = 0;
  UNROLL for (i32 team = 0; team < TEAMS; team++) {
    sum += reinterpret_cast<const f32*>(own + team * TEAM_BYTES)[row * SUM_STRIDE + output % TILE_OUTPUTS];
  }
  return sum * (1.0f / WEIGHT_SCALE);
}

KERNEL_RESIDENT(product, THREADS, RESIDENT, const i32* count, const u32x4* x, const u8* weight, i32 outputs, i32 groups, const f32* addend,
                void* y, i32 apart) {
  DYNAMIC_SHARED(shared);
  i32 used = *count;
  i32 wave = thread() / MATRIX_LANES, chunks = (groups + MATRIX_PARTS - 1) / MATRIX_PARTS;
  i32 part = (chunks + SPLITS - 1) / SPLITS, split = SPLITS > 1 ? block_z() : 0;
  i32 begin = split * part + wave / SHARE, end = min_of((split + 1) * part, chunks);
  PlaneCursor cursor = {const_cast<u8*>(weight)};
  Weights weights;
  weights.quants = P::Q::planes(cursor, tiled_groups(i64(PARTS) * outputs, groups));
  weights.scales = P::S::planes(cursor, tiled_groups(i64(PARTS) * outputs, groups));
  weights.groups = groups;
  UNROLL for (i32 o = 0; o < OUTPUT_TILES; o++) {
    UNROLL for (i32 l = 0; l < MATRIX_LINES; l++) {
      i32 line = wave % SHARE * TILE_OUTPUTS + 16 * o + matrix_line(l);
      weights.starts[o][l] = row_start(u32(weight_row(block_x() * BLOCK_LINES, line, outputs)), groups);
    }
  }
  RawGroup raw[DEPTH][OUTPUT_TILES][MATRIX_LINES];
  UNROLL for (i32 d = 0; d < DEPTH; d++) weights.load(begin + d * TEAMS, raw[d]);
  P::prepare(THREADS);
  if (P::HAS_GRID) barrier();
  grid_launch_dependents();
  grid_dependency_wait();
  i32 first_row = block_y() * TILE_ROWS;
  if (first_row >= used) return;
  i32 row_octets = padded_width(32 * groups) / 8;
#if ADDS_COPIED
  SHARED f32 addends[TILE_ROWS * BLOCK_LINES];
  for (i32 i = thread(); i < TILE_ROWS * BLOCK_LINES; i += THREADS) {
    i32 row = first_row + i / BLOCK_LINES, n = i32(block_x()) * BLOCK_LINES + i % BLOCK_LINES;
    if (row < used && n < outputs) cp_async_4(shared_address(addends + i), addend + i64(row) * outputs + n);
  }
#endif
#if COPIED
  u32x4* ring = reinterpret_cast<u32x4*>(shared + wave / SHARE * TEAM_BYTES);
  Rows rows = {x, {}, shared_address(ring), wave, end};
  rows.start(first_row, used, row_octets);
  UNROLL for (i32 a = 0; a < AHEAD; a++) rows.send(begin + a * TEAMS, a);
  i32 slot = 0;
#else
  const u32x4* starts[ROW_TILES * ROW_LINES];
  UNROLL for (i32 k = 0; k < ROW_TILES * ROW_LINES; k++) starts[k] = x + i64(row_of(first_row, k, used)) * row_octets;
#endif
  MatrixSum sums[OUTPUT_TILES][ROW_TILES] = {};
  auto multiply_chunk = [&](i32 chunk, const RawGroup (*own)[MATRIX_LINES]) {
    P::Entries entries[OUTPUT_TILES][MATRIX_LINES];
    PairedScales scales[OUTPUT_TILES][MATRIX_LINES];
    UNROLL for (i32 o = 0; o < OUTPUT_TILES; o++) {
      UNROLL for (i32 l = 0; l < MATRIX_LINES; l++) {
        entries[o][l] = P::entries(own[o][l].quants);
        scales[o][l] = paired_scales(own[o][l].scales);
      }
    }
#if COPIED
    rows.turn(chunk, slot);
    const u32x4* from = ring + slot * SLOT_OCTETS + lane();
    slot = slot == AHEAD ? 0 : slot + 1;
#endif
    UNROLL for (i32 f = 0; f < MATRIX_PARTS; f++) {
      Fragment columns[ROW_TILES];
      UNROLL for (i32 i = 0; i < LANE_OCTETS; i++) {
        i32 line = i / FRAGMENT_OCTETS, t = i % FRAGMENT_OCTETS;
#if COPIED
        u32x4 octet = from[(line * MATRIX_PARTS + f) * MATRIX_LANES];
#else
        u32x4 octet = starts[line][octet_index(chunk * MATRIX_PARTS + matrix_part(), f * FRAGMENT_OCTETS + t)];
#endif
        columns[line / ROW_LINES].at[line % ROW_LINES][t] = octet;
      }
      UNROLL for (i32 o = 0; o < OUTPUT_TILES; o++) {
        Fragment lines;
        UNROLL for (i32 l = 0; l < MATRIX_LINES; l++) {
          UNROLL for (i32 t = 0; t < FRAGMENT_OCTETS; t++) {
            lines.at[l][t] = decode_octet(entries[o][l], scales[o][l], f * FRAGMENT_OCTETS + t);
          }
        }
        UNROLL for (i32 r = 0; r < ROW_TILES; r++) MULTIPLY(sums[o][r], lines, columns[r]);
      }
    }
  };
  for (i32 first = begin; first < end; first += DEPTH * TEAMS) {
    UNROLL for (i32 d = 0; d < DEPTH; d++) {
      i32 chunk = first + d * TEAMS;
      if (chunk >= end) break;
      RawGroup own[OUTPUT_TILES][MATRIX_LINES];
      UNROLL for (i32 o = 0; o < OUTPUT_TILES; o++) {
        UNROLL for (i32 l = 0; l < MATRIX_LINES; l++) own[o][l] = raw[d][o][l];
      }
      i32 next = chunk + DEPTH * TEAMS;
      if (EARLY && next < end) weights.load(next, raw[d]);
      multiply_chunk(chunk, own);
      if (!EARLY && next < end) weights.load(next, raw[d]);
    }
  }
#if COPIED
  cp_async_wait<0>();
#if SHARE > 1
  barrier_of(1 + wave / SHARE, SHARE * MATRIX_LANES);
#endif
#endif
  f32* own = reinterpret_cast<f32*>(shared + wave / SHARE * TEAM_BYTES + wave % SHARE * SUM_BYTES);
  UNROLL for (i32 o = 0; o < OUTPUT_TILES; o++) {
    UNROLL for (i32 r = 0; r < ROW_TILES; r++) {
      UNROLL for (i32 i = 0; i < ROW_SUMS; i++) {
        own[(16 * r + matrix_column(i)) * SUM_STRIDE + 16 * o + matrix_row(i)] = sums[o][r].at[i];
      }
    }
  }
  barrier();
  constexpr i32 WIDTH = BLOCK_LINES / PARTS;
  if (SPLITS > 1) y = static_cast<f32*>(y) + i64(split) * apart;
  for (i32 i = thread(); i < TILE_ROWS * WIDTH; i += THREADS) {
    i32 row = i / WIDTH, line = i % WIDTH, n = i32(block_x()) * WIDTH + line;
    if (first_row + row >= used || n >= outputs) continue;
#if OUTPUT < 2
#if ADDS_COPIED
    static_cast<f32*>(y)[i64(first_row + row) * outputs + n] = sum_of_teams(shared, row, line) + addends[i];
#else
    write_output(y, addend, first_row + row, n, outputs, sum_of_teams(shared, row, line));
#endif
#else
    i32 gate = (line & ~15) * 2 + (line & 15);
    write_gated(y, first_row + row, n, outputs, sum_of_teams(shared, row, gate), sum_of_teams(shared, row, gate + 16));
#endif
  }
}

// Matrix products for many rows: a wave takes chunks of k in turn, decodes its weights in registers and multiplies them with
// f16 activations on the matrix cores; the waves' sums meet in shared memory. A wave computes TILE_OUTPUTS outputs of TILE_ROWS rows. Of a
// block's WAVES waves, SHARE neighbours take the same chunks for different outputs, so that they copy activations once for all of
// them: many rows are otherwise read more often than the weights. In a chunk, each part of the wave's lanes has a group of its own.
//
//   OUTPUT  as in product-outputs.h
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

// Where copies run beside the computation, the next activations of a team of SHARE waves are on their way to memory of its own. The lanes
// of one wave read what they have copied themselves, so that nobody waits for anybody.
#ifdef GPU_NVIDIA
#define STAGES 4
#else
#define STAGES 0
#endif
static_assert(SHARE == 1 || (STAGES && ROW_TILES * ROW_LINES % SHARE == 0), "waves share what each has copied a part of");
constexpr i32 RING_BYTES = STAGES * LANE_OCTETS * MATRIX_LANES * 16, SUM_BYTES = TILE_ROWS * SUM_STRIDE * 4;
constexpr i32 TEAM_BYTES = RING_BYTES > SHARE * SUM_BYTES ? RING_BYTES : SHARE * SUM_BYTES;

struct Weights {
  P::Q::Planes quants;
  P::S::Planes scales;
  i64 starts[OUTPUT_TILES][MATRIX_LINES];
  i32 groups;

  DEVICE_MEMBER void load(i32 chunk, RawGroup (*raw)[MATRIX_LINES]) const {
    // Groups beyond the row's end repeat its last: they meet zeros.
    i32 group = min_of(chunk * MATRIX_PARTS + matrix_part(), groups - 1);
    UNROLL for (i32 o = 0; o < OUTPUT_TILES; o++) {
      UNROLL for (i32 l = 0; l < MATRIX_LINES; l++) {
        raw[o][l] = {P::Q::load(quants, starts[o][l] + group), P::S::load(scales, starts[o][l] + group)};
      }
    }
  }
};

/// The rows that a lane loads: of its team's, each SHARE-th.
struct Rows {
  const u32x4* starts[ROW_TILES * ROW_LINES / SHARE];
  i32 chunks;

  /// The address of a lane's octet `i` of `LANE_OCTETS / SHARE`, of fragment `f` of a chunk.
  DEVICE_MEMBER const u32x4* octet(i32 chunk, i32 f, i32 i) const {
    i32 group = chunk * MATRIX_PARTS + matrix_part(), t = f * FRAGMENT_OCTETS + i % FRAGMENT_OCTETS;
    return starts[i / FRAGMENT_OCTETS] + octet_index(group, t);
  }
};

#if STAGES
/// Starts to load the wave's share of the activations of unit `unit`: units are the fragments of the team's chunks, one after another.
DEVICE void send_for(SharedAddress ring, const Rows& rows, i32 wave, i32 unit) {
  i32 chunk = wave / SHARE + unit / MATRIX_PARTS * TEAMS, f = unit % MATRIX_PARTS;
  SharedAddress to = ring + 16 * (unit % STAGES * (LANE_OCTETS * MATRIX_LANES) + lane());
  if (chunk < rows.chunks) {
    UNROLL for (i32 i = 0; i < LANE_OCTETS / SHARE; i++) {
      i32 line = i / FRAGMENT_OCTETS * SHARE + wave % SHARE;
      SharedAddress place = to + 16 * (line * FRAGMENT_OCTETS + i % FRAGMENT_OCTETS) * MATRIX_LANES;
      // Few rows stay in the multiprocessor's cache until its other blocks copy them; many only pass through it.
      if (TILE_ROWS <= 16) cp_async_cached_16(place, rows.octet(chunk, f, i));
      else cp_async_16(place, rows.octet(chunk, f, i));
    }
  }
  cp_async_commit();
}
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

KERNEL_RESIDENT(product, THREADS, (WAVES > 4 ? 1 : 2), const i32* count, const u32x4* x, const u8* weight, i32 outputs, i32 groups, const f32* addend, void* y) {
  DYNAMIC_SHARED(shared);
  i32 wave = thread() / MATRIX_LANES, chunks = (groups + MATRIX_PARTS - 1) / MATRIX_PARTS;
  PlaneCursor cursor = {const_cast<u8*>(weight)};
  Weights weights;
  weights.quants = P::Q::planes(cursor, i64(PARTS) * outputs * groups);
  weights.scales = P::S::planes(cursor, i64(PARTS) * outputs * groups);
  weights.groups = groups;
  UNROLL for (i32 o = 0; o < OUTPUT_TILES; o++) {
    UNROLL for (i32 l = 0; l < MATRIX_LINES; l++) {
      i32 line = wave % SHARE * TILE_OUTPUTS + 16 * o + matrix_line(l);
      weights.starts[o][l] = weight_row(block_x() * BLOCK_LINES, line, outputs) * groups;
    }
  }
  RawGroup next[OUTPUT_TILES][MATRIX_LINES];
  weights.load(wave / SHARE, next);
  P::prepare(THREADS);
  if (P::HAS_GRID) barrier();
  grid_launch_dependents();
  grid_dependency_wait();
  i32 used = *count, first_row = block_y() * TILE_ROWS;
  if (first_row >= used) return;
  Rows rows;
  rows.chunks = chunks;
  UNROLL for (i32 k = 0; k < ROW_TILES * ROW_LINES / SHARE; k++) {
    // Lines without a row read some other row, each another: their sums are unused.
    i32 own = k * SHARE + wave % SHARE, line = first_row + 16 * (own / ROW_LINES) + matrix_line(own % ROW_LINES);
    i64 row = line < used ? line : line % used;
    rows.starts[k] = x + row * (padded_width(32 * groups) / 8);
  }
#if STAGES
  u32x4* ring = reinterpret_cast<u32x4*>(shared + wave / SHARE * TEAM_BYTES);
  SharedAddress ring_address = shared_address(ring);
  i32 unit = 0;
  UNROLL for (i32 s = 0; s < STAGES - 1; s++) send_for(ring_address, rows, wave, s);
#endif
  MatrixSum sums[OUTPUT_TILES][ROW_TILES] = {};
  for (i32 chunk = wave / SHARE; chunk < chunks; chunk += TEAMS) {
    P::Entries entries[OUTPUT_TILES][MATRIX_LINES];
    PairedScales scales[OUTPUT_TILES][MATRIX_LINES];
    UNROLL for (i32 o = 0; o < OUTPUT_TILES; o++) {
      UNROLL for (i32 l = 0; l < MATRIX_LINES; l++) {
        entries[o][l] = P::entries(next[o][l].quants);
        scales[o][l] = paired_scales(next[o][l].scales);
      }
    }
    if (chunk + TEAMS < chunks) weights.load(chunk + TEAMS, next);
    UNROLL for (i32 f = 0; f < MATRIX_PARTS; f++) {
      Fragment columns[ROW_TILES];
#if STAGES
#if SHARE > 1
      // What the others have copied is there, and what is copied next takes the place of what all have read.
      cp_async_wait<STAGES - 2>();
      barrier_of(1 + wave / SHARE, SHARE * MATRIX_LANES);
      send_for(ring_address, rows, wave, unit + STAGES - 1);
#else
      send_for(ring_address, rows, wave, unit + STAGES - 1);
      cp_async_wait<STAGES - 1>();
#endif
      const u32x4* from = ring + unit % STAGES * (LANE_OCTETS * MATRIX_LANES) + lane();
      unit++;
#endif
      UNROLL for (i32 i = 0; i < LANE_OCTETS; i++) {
        i32 line = i / FRAGMENT_OCTETS;
#if STAGES
        columns[line / ROW_LINES].at[line % ROW_LINES][i % FRAGMENT_OCTETS] = from[i * MATRIX_LANES];
#else
        columns[line / ROW_LINES].at[line % ROW_LINES][i % FRAGMENT_OCTETS] = *rows.octet(chunk, f, i);
#endif
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
  }
#if STAGES
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
  for (i32 i = thread(); i < TILE_ROWS * WIDTH; i += THREADS) {
    i32 row = i / WIDTH, line = i % WIDTH, n = i32(block_x()) * WIDTH + line;
    if (first_row + row >= used || n >= outputs) continue;
#if OUTPUT < 2
    write_output(y, addend, first_row + row, n, outputs, sum_of_teams(shared, row, line));
#else
    i32 gate = (line & ~15) * 2 + (line & 15);
    write_gated(y, first_row + row, n, outputs, sum_of_teams(shared, row, gate), sum_of_teams(shared, row, gate + 16));
#endif
  }
}

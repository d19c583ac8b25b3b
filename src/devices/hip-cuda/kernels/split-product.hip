// Products of few rows by weights of f16 or bf16, as exact as in f32: the matrix cores multiply the weights, which are read once,
// with both matrices that split-halves.hip makes of the rows, which stand side by side as columns of one fragment. A wave takes
// chunks of k in turn, and the waves' sums meet in shared memory. A block takes 32 lines of one of up to three weights, whose outputs
// follow one another, and TILE_ROWS rows; a multiprocessor should hold RESIDENT blocks.
//
//   OUTPUT  0 f32 (+ bias)   1 f32 + residual   3 gated(gate, up): half of a block's lines are of the gate, the others of its up, which
//           is the second weight, or the second half of the first
#include "activation.h"
#include "matrix.h"

#if BFLOATS
#define MULTIPLY multiply_bfloats
#else
#define MULTIPLY multiply
#endif

#define THREADS (WAVES * MATRIX_LANES)
constexpr f32 LOW_SCALE = 2048.0f;
/// Rows whose two halves a fragment holds.
constexpr i32 PAIRED_ROWS = 8;
constexpr i32 LINE_TILES = 2, TILE_LINES = 16 * LINE_TILES, ROW_TILES = TILE_ROWS / PAIRED_ROWS;
/// Fragments of a chunk of a line: 64 elements, so that each lane's loads of a line lie side by side.
constexpr i32 FRAGMENTS = 2, CHUNK_OCTETS = 4 * FRAGMENTS;
/// Octets that a lane holds of one fragment's k of all rows.
constexpr i32 LANE_OCTETS = ROW_TILES * MATRIX_LINES * FRAGMENT_OCTETS;
/// Sums of a row stand this far apart, to avoid bank conflicts.
constexpr i32 SUM_STRIDE = TILE_LINES + 4;

// Where copies run beside the computation, a wave's next rows are on their way to memory of its own.
#ifdef GPU_NVIDIA
#define STAGES 4
#else
#define STAGES 0
#endif
constexpr i32 RING_BYTES = STAGES * LANE_OCTETS * MATRIX_LANES * 16, SUM_BYTES = 2 * TILE_ROWS * SUM_STRIDE * 4;
constexpr i32 WAVE_BYTES = RING_BYTES > SUM_BYTES ? RING_BYTES : SUM_BYTES;

/// The octet of a chunk that is octet `t` of those that the lane holds of fragment `f`.
DEVICE i32 chunk_octet(i32 f, i32 t) { return 4 * f + t * MATRIX_PARTS + matrix_part(); }

struct Weights {
  const u32x4* starts[LINE_TILES][MATRIX_LINES];
  i32 octets;

  /// Loads a chunk; behind the lines' end there are zeros.
  DEVICE_MEMBER void load(i32 chunk, Fragment (*lines)[FRAGMENTS]) const {
    UNROLL for (i32 o = 0; o < LINE_TILES; o++) {
      UNROLL for (i32 f = 0; f < FRAGMENTS; f++) {
        UNROLL for (i32 l = 0; l < MATRIX_LINES; l++) {
          UNROLL for (i32 t = 0; t < FRAGMENT_OCTETS; t++) {
            i32 octet = chunk * CHUNK_OCTETS + chunk_octet(f, t);
            lines[o][f].at[l][t] = octet < octets ? load_streaming(starts[o][l] + octet) : u32x4{0, 0, 0, 0};
          }
        }
      }
    }
  }
};

struct Rows {
  const u32x4* starts[ROW_TILES][MATRIX_LINES];
  i32 octets;

  /// The address of octet `i` of a lane's `LANE_OCTETS` of fragment `f` of a chunk; behind the rows' end some other octet, which
  /// meets zeros.
  DEVICE_MEMBER const u32x4* octet(i32 chunk, i32 f, i32 i) const {
    i32 line = i / FRAGMENT_OCTETS;
    return starts[line / MATRIX_LINES][line % MATRIX_LINES] +
           min_of(chunk * CHUNK_OCTETS + chunk_octet(f, i % FRAGMENT_OCTETS), octets - 1);
  }
};

#if STAGES
/// Starts to load what the wave's fragment `unit` needs of the rows.
DEVICE void send_for(SharedAddress ring, const Rows& rows, i32 wave, i32 unit, i32 chunks) {
  i32 chunk = wave + unit / FRAGMENTS * WAVES;
  SharedAddress to = ring + 16 * (unit % STAGES * (LANE_OCTETS * MATRIX_LANES) + lane());
  if (chunk < chunks) {
    UNROLL for (i32 i = 0; i < LANE_OCTETS; i++) cp_async_cached_16(to + 16 * i * MATRIX_LANES, rows.octet(chunk, unit % FRAGMENTS, i));
  }
  cp_async_commit();
}
#endif

/// The product of `high` plus that of `low` for line `line` of a row of the tile.
DEVICE f32 sum_of_waves(const u8* shared, i32 row, i32 line) {
  f32 high = 0, low = 0;
  UNROLL for (i32 wave = 0; wave < WAVES; wave++) {
    const f32* own = reinterpret_cast<const f32*>(shared + wave * WAVE_BYTES);
    own += (row / PAIRED_ROWS * 16 + row % PAIRED_ROWS) * SUM_STRIDE + line;
    high += own[0], low += own[PAIRED_ROWS * SUM_STRIDE];
  }
  return fused_multiply_add(low, 1.0f / LOW_SCALE, high);
}

/// `lines0` and `lines1` are those of the first weights, `outputs` those of all.
KERNEL_RESIDENT(split_product, THREADS, RESIDENT, const i32* count, const u32x4* high, const u32x4* low, const f32* scales,
                const u32x4* weight0, const u32x4* weight1, const u32x4* weight2, i32 lines0, i32 lines1, i32 outputs, i32 columns,
                const f32* addend, f32* y) {
  DYNAMIC_SHARED(shared);
  i32 used = *count;
  i32 wave = thread() / MATRIX_LANES, octets = columns / 8, chunks = (octets + CHUNK_OCTETS - 1) / CHUNK_OCTETS;
  Weights weights;
  weights.octets = octets;
#if OUTPUT == 3
  constexpr i32 BLOCK_OUTPUTS = TILE_LINES / 2;
  i32 first = block_x() * BLOCK_OUTPUTS, end = outputs;
  UNROLL for (i32 o = 0; o < LINE_TILES; o++) {
    const u32x4* weight = o == 0 ? weight0 : weight1 ? weight1 : weight0 + i64(outputs) * octets;
    UNROLL for (i32 l = 0; l < MATRIX_LINES; l++) {
      weights.starts[o][l] = weight + i64(min_of(first + matrix_line(l), end - 1)) * octets;
    }
  }
#else
  constexpr i32 BLOCK_OUTPUTS = TILE_LINES;
  // The block's first output, the end of its weight's outputs, and how many are those of the weights before.
  i32 block = block_x(), before = 0, end = lines0;
  const u32x4* weight = weight0;
  i32 blocks0 = (lines0 + TILE_LINES - 1) / TILE_LINES, blocks1 = (lines1 + TILE_LINES - 1) / TILE_LINES;
  if (block >= blocks0) block -= blocks0, weight = weight1, before = lines0, end = lines0 + lines1;
  if (before > 0 && block >= blocks1) block -= blocks1, weight = weight2, before = end, end = outputs;
  i32 first = before + block * TILE_LINES;
  UNROLL for (i32 o = 0; o < LINE_TILES; o++) {
    UNROLL for (i32 l = 0; l < MATRIX_LINES; l++) {
      weights.starts[o][l] = weight + i64(min_of(first + 16 * o + matrix_line(l), end - 1) - before) * octets;
    }
  }
#endif
  Fragment next[LINE_TILES][FRAGMENTS];
  weights.load(wave, next);
  grid_launch_dependents();
  grid_dependency_wait();
  if (used == 0) return;
  Rows rows;
  rows.octets = octets;
  UNROLL for (i32 r = 0; r < ROW_TILES; r++) {
    UNROLL for (i32 l = 0; l < MATRIX_LINES; l++) {
      // Rows that do not exist repeat the last: their sums are unused.
      i32 column = matrix_line(l), row = min_of(PAIRED_ROWS * r + column % PAIRED_ROWS, used - 1);
      rows.starts[r][l] = (column < PAIRED_ROWS ? high : low) + i64(row) * octets;
    }
  }
#if STAGES
  u32x4* ring = reinterpret_cast<u32x4*>(shared + wave * WAVE_BYTES);
  SharedAddress ring_address = shared_address(ring);
  i32 unit = 0;
  UNROLL for (i32 s = 0; s < STAGES - 1; s++) send_for(ring_address, rows, wave, s, chunks);
#endif
  MatrixSum sums[LINE_TILES][ROW_TILES] = {};
  for (i32 chunk = wave; chunk < chunks; chunk += WAVES) {
    Fragment lines[LINE_TILES][FRAGMENTS];
    UNROLL for (i32 o = 0; o < LINE_TILES; o++) {
      UNROLL for (i32 f = 0; f < FRAGMENTS; f++) lines[o][f] = next[o][f];
    }
    if (chunk + WAVES < chunks) weights.load(chunk + WAVES, next);
    UNROLL for (i32 f = 0; f < FRAGMENTS; f++) {
#if STAGES
      send_for(ring_address, rows, wave, unit + STAGES - 1, chunks);
      cp_async_wait<STAGES - 1>();
      const u32x4* from = ring + unit % STAGES * (LANE_OCTETS * MATRIX_LANES) + lane();
      unit++;
#endif
      Fragment halves[ROW_TILES];
      UNROLL for (i32 i = 0; i < LANE_OCTETS; i++) {
        i32 line = i / FRAGMENT_OCTETS;
#if STAGES
        u32x4 octet = from[i * MATRIX_LANES];
#else
        u32x4 octet = *rows.octet(chunk, f, i);
#endif
        halves[line / MATRIX_LINES].at[line % MATRIX_LINES][i % FRAGMENT_OCTETS] = octet;
      }
      UNROLL for (i32 o = 0; o < LINE_TILES; o++) {
        UNROLL for (i32 r = 0; r < ROW_TILES; r++) MULTIPLY(sums[o][r], lines[o][f], halves[r]);
      }
    }
  }
#if STAGES
  cp_async_wait<0>();
#endif
  f32* own = reinterpret_cast<f32*>(shared + wave * WAVE_BYTES);
  UNROLL for (i32 o = 0; o < LINE_TILES; o++) {
    UNROLL for (i32 r = 0; r < ROW_TILES; r++) {
      UNROLL for (i32 i = 0; i < MATRIX_SUMS; i++) {
        own[(16 * r + matrix_column(i)) * SUM_STRIDE + 16 * o + matrix_row(i)] = sums[o][r].at[i];
      }
    }
  }
  barrier();
  for (i32 i = thread(); i < TILE_ROWS * BLOCK_OUTPUTS; i += THREADS) {
    i32 row = i / BLOCK_OUTPUTS, line = i % BLOCK_OUTPUTS, n = first + line;
    if (row >= used || n >= end) continue;
    f32 value = sum_of_waves(shared, row, line) * scales[row];
    i64 at = i64(row) * outputs + n;
#if OUTPUT == 0
    y[at] = addend ? value + addend[n] : value;
#elif OUTPUT == 1
    y[at] = value + addend[at];
#else
    y[at] = gated(value, sum_of_waves(shared, row, line + 16) * scales[row]);
#endif
  }
}

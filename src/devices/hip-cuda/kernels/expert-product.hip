// Products of many rows with the weights of the experts that they chose, on the matrix cores; the experts' weights stand one
// below another. A block has a tile of an expert's choices (see group-choices.hip), rows of f16, and multiplies them with
// BLOCK_LINES lines of its weights: each wave decodes two times sixteen lines, once for all rows of the tile, whose chunks all
// waves read from shared memory. Chunks on their way run ahead of the computation where copies can.
//
//   HEADS   1 if an expert is a head, with a matrix for its part of each row: `tiles` is absent, as each head has all rows
//   JOINED  1 if an expert's up stands below its gate; otherwise all experts' ups stand below all gates
//   HOT     if it is defined, each expert is a matrix by itself, gate and up, and some have copies: see hot-experts.h
//   OUTPUT  0 f32   2 gated(gate, up) as halves, each choice's row padded on its own   3 the same as f32; a wave has a gate's
//           sixteen lines and the same of its up
#include "activation.h"
#define GRID_COPIED
#ifndef HOT
#define SCALES_CACHED
#endif
#include "decode.h"
#include "hot-experts.h"
#include "matrix.h"

#define WAVES 4
#define THREADS (WAVES * MATRIX_LANES)
#define PARTS (OUTPUT >= 2 ? 2 : 1)
/// Times sixteen lines that a wave decodes.
constexpr i32 OUTPUT_TILES = 2, ROW_TILES = (TILE_ROWS + 15) / 16;
/// Rows that a lane has of a fragment, and sums: half of them where a tile has eight rows.
constexpr i32 ROW_LINES = TILE_ROWS < 16 ? MATRIX_LINES / 2 : MATRIX_LINES, ROW_SUMS = MATRIX_SUMS / MATRIX_LINES * ROW_LINES;
#if TILE_ROWS < 16
#define MULTIPLY multiply_left
#else
#define MULTIPLY multiply
#endif
/// Outputs of a wave, and of a block.
constexpr i32 WAVE_OUTPUTS = 16 * OUTPUT_TILES / PARTS, BLOCK_OUTPUTS = WAVES * WAVE_OUTPUTS;
/// Chunks of the rows in shared memory: with copies that run beside the computation, several are on their way.
#ifdef GPU_NVIDIA
constexpr i32 STAGES = 4;
#else
constexpr i32 STAGES = 2;
#endif
constexpr i32 STAGE_OCTETS = TILE_ROWS * CHUNK_OCTETS;
/// Sums of a row stand this far apart, to avoid bank conflicts; they take the place of the chunks.
constexpr i32 SUM_STRIDE = 16 * OUTPUT_TILES * WAVES + 4;
/// Times that a wave's parts go through the groups of a chunk.
constexpr i32 UNITS = CHUNK_GROUPS / MATRIX_PARTS;

/// The choices of a tile.
struct Tile {
  i32 expert, first, end;
};

struct Weights {
  P::Q::Planes quants;
  P::S::Planes scales;
  /// The lines' first groups, of which there are fewer than 2^32: so addresses are cheap.
  u32 starts[OUTPUT_TILES][MATRIX_LINES];
  i32 groups;

  DEVICE_MEMBER void load(i32 unit, RawGroup (*raw)[MATRIX_LINES]) const {
    // Groups beyond the row's end repeat its last: they meet zeros.
    u32 own = group_step(min_of(unit * MATRIX_PARTS + matrix_part(), groups - 1));
    UNROLL for (i32 o = 0; o < OUTPUT_TILES; o++) {
      UNROLL for (i32 l = 0; l < MATRIX_LINES; l++) {
        i64 group = starts[o][l] + own;
        raw[o][l] = {P::Q::load(quants, group), P::S::load(scales, group)};
      }
    }
  }
};

// A lane's activations of eight rows come to registers, beside the weights, without a copy that waves wait for together.
#if defined(GPU_NVIDIA) && TILE_ROWS < 16
#define HELD 1
#else
#define HELD 0
#endif

/// Where octet `t` of group `group` of a chunk stands among those of a stage: what a wave reads at once lies side by side.
DEVICE i32 stage_index(i32 row, i32 t, i32 group) { return (t * TILE_ROWS + row) * CHUNK_GROUPS + group; }

#if !HELD
/// What a thread copies of each chunk of the rows in use: an octet of every TURN_ROWS-th. What stands in the place of other rows is
/// multiplied, too, but their sums are unused.
constexpr i32 TURN_ROWS = THREADS / CHUNK_OCTETS, TURNS = (TILE_ROWS + TURN_ROWS - 1) / TURN_ROWS;
struct Copies {
  const u32x4* x;
  u32 starts[TURNS];
  SharedAddress stages;
  i32 first, used, chunks;

  /// Starts to copy a chunk to its stage.
  DEVICE_MEMBER void send(i32 chunk) const {
    if (chunk < chunks) {
      i32 octet = thread() % CHUNK_OCTETS;
      i32 place = chunk % STAGES * STAGE_OCTETS + stage_index(first, octet / CHUNK_GROUPS, octet % CHUNK_GROUPS);
      UNROLL for (i32 k = 0; k < TURNS; k++) {
        if (first + k * TURN_ROWS >= used) break;
        cp_async_16(stages + 16 * place + 16 * (k * TURN_ROWS * CHUNK_GROUPS), x + (starts[k] + chunk * CHUNK_OCTETS));
      }
    }
    cp_async_commit();
  }
};
#endif

#if PARTS == 2
DEVICE void write_gated(void* y, i64 row, i32 n, i32 outputs, f32 gate, f32 up) {
#if OUTPUT == 2
  store_half(static_cast<u16*>(y), row, outputs, n, n < outputs ? gated(gate, up) : 0.0f);
#else
  if (n < outputs) static_cast<f32*>(y)[row * outputs + n] = gated(gate, up);
#endif
}
#endif

/// A bias of output `n` of a line of `outputs`, whose numbers count those of all experts before it.
DEVICE f32 bias_of(const f32* biases, i64 line, i32 n, i32 outputs) {
  return biases ? biases[line * outputs + min_of(n, outputs - 1)] : 0.0f;
}

/// `top_k` choices of a row; `x` has a row for each of them if `own_rows`, each padded on its own.
KERNEL_RESIDENT(expert_product, THREADS, RESIDENT, const i32* count, const u32x4* x, const u8* weight, HOT_PARAMETERS
                const i32* order, const u32x4* tiles, const f32* biases, void* y, i32 expert_count, i32 outputs, i32 groups, i32 top_k,
                i32 own_rows) {
  DYNAMIC_SHARED(shared);
  SHARED i32 choices[TILE_ROWS];
  SHARED u32 starts[TILE_ROWS];
  i32 wave = thread() / MATRIX_LANES, chunks = (groups + CHUNK_GROUPS - 1) / CHUNK_GROUPS;
  Weights weights;
  weights.groups = groups;
#ifndef HOT
  PlaneCursor cursor = {const_cast<u8*>(weight)};
  weights.quants = P::Q::planes(cursor, tiled_groups(i64(PARTS) * expert_count * outputs, groups));
  weights.scales = P::S::planes(cursor, tiled_groups(i64(PARTS) * expert_count * outputs, groups));
#endif
  [[maybe_unused]] i32 used_rows = *count;
  grid_launch_dependents();
  grid_dependency_wait();
#if HEADS
  i32 row_tiles = (used_rows + TILE_ROWS - 1) / TILE_ROWS, head = i32(block_y()) % expert_count;
  i32 from = i32(block_y()) / expert_count * TILE_ROWS;
  if (i32(block_y()) >= row_tiles * expert_count) return;
  Tile tile = {head, from, min_of(from + TILE_ROWS, used_rows)};
#else
  u32x4 own = tiles[block_y()];
  Tile tile = {i32(own.x), i32(own.y), i32(own.z)};
  if (tile.first >= tile.end) return;
#endif
#ifdef HOT
  PlaneCursor cursor = {const_cast<u8*>(matrix_of(tile.expert, weight, slots, copies, pages))};
  weights.quants = P::Q::planes(cursor, tiled_groups(i64(PARTS) * outputs, groups));
  weights.scales = P::S::planes(cursor, tiled_groups(i64(PARTS) * outputs, groups));
#endif
  i32 n0 = i32(block_x()) * BLOCK_OUTPUTS + wave * WAVE_OUTPUTS;
  UNROLL for (i32 o = 0; o < OUTPUT_TILES; o++) {
    UNROLL for (i32 l = 0; l < MATRIX_LINES; l++) {
      i32 n = min_of(n0 + (PARTS == 2 ? 0 : 16 * o) + matrix_line(l), outputs - 1);
#ifdef HOT
      u32 matrix = PARTS == 2 ? o : 0;
#elif JOINED
      u32 matrix = 2 * tile.expert + o;
#else
      u32 matrix = (PARTS == 2 ? o * expert_count : 0) + tile.expert;
#endif
      weights.starts[o][l] = row_start(matrix * u32(outputs) + n, groups);
    }
  }
  RawGroup next[OUTPUT_TILES][MATRIX_LINES];
  weights.load(0, next);
  P::prepare(THREADS);
  i32 used = tile.end - tile.first, row_tiles_used = (used + 15) / 16;
  for (i32 i = thread(); i < used; i += THREADS) {
#if HEADS
    i32 choice = (tile.first + i) * expert_count + tile.expert;
#else
    i32 choice = order[tile.first + i];
#endif
    choices[i] = choice;
    starts[i] = u32(own_rows ? choice : choice / top_k) * (padded_width(32 * groups) / 8);
  }
  barrier();
#if HELD
  // Lines without a row read that of another: their sums are unused.
  const u32x4* line = x + starts[min_of(matrix_line(0), used - 1)] + matrix_part();
  u32x4 next_octets[MATRIX_PARTS];
  auto load_octets = [&](i32 chunk) {
    UNROLL for (i32 f = 0; f < MATRIX_PARTS; f++) next_octets[f] = line[u32(min_of(chunk, chunks - 1) * CHUNK_OCTETS) + octet_index(0, f)];
  };
  load_octets(0);
#else
  const u32x4* stages = reinterpret_cast<const u32x4*>(shared);
  Copies rows = {x, {}, shared_address(shared), i32(thread()) / CHUNK_OCTETS, used, chunks};
  UNROLL for (i32 k = 0; k < TURNS; k++) {
    rows.starts[k] = starts[min_of(rows.first + k * TURN_ROWS, used - 1)] + thread() % CHUNK_OCTETS;
  }
  UNROLL for (i32 s = 0; s < STAGES - 1; s++) rows.send(s);
#endif
  MatrixSum sums[OUTPUT_TILES][ROW_TILES] = {};
  for (i32 chunk = 0; chunk < chunks; chunk++) {
#if HELD
    u32x4 octets[MATRIX_PARTS];
    UNROLL for (i32 f = 0; f < MATRIX_PARTS; f++) octets[f] = next_octets[f];
    load_octets(chunk + 1);
#else
    cp_async_wait<STAGES - 2>();
    barrier();
    rows.send(chunk + STAGES - 1);
    const u32x4* stage = stages + chunk % STAGES * STAGE_OCTETS;
#endif
    UNROLL for (i32 u = 0; u < UNITS; u++) {
      P::Entries entries[OUTPUT_TILES][MATRIX_LINES];
      PairedScales scales[OUTPUT_TILES][MATRIX_LINES];
      UNROLL for (i32 o = 0; o < OUTPUT_TILES; o++) {
        UNROLL for (i32 l = 0; l < MATRIX_LINES; l++) {
          entries[o][l] = P::entries(next[o][l].quants);
          scales[o][l] = paired_scales(next[o][l].scales);
        }
      }
      weights.load(chunk * UNITS + u + 1, next);
      UNROLL for (i32 f = 0; f < MATRIX_PARTS; f++) {
        Fragment lines[OUTPUT_TILES];
        UNROLL for (i32 o = 0; o < OUTPUT_TILES; o++) {
          UNROLL for (i32 l = 0; l < MATRIX_LINES; l++) {
            UNROLL for (i32 t = 0; t < FRAGMENT_OCTETS; t++) {
              lines[o].at[l][t] = decode_octet(entries[o][l], scales[o][l], f * FRAGMENT_OCTETS + t);
            }
          }
        }
        UNROLL for (i32 r = 0; r < ROW_TILES; r++) {
          // The first is always used: with no other, nothing is to be decided.
          if (r > 0 && r >= row_tiles_used) continue;
          Fragment columns;
          UNROLL for (i32 l = 0; l < ROW_LINES; l++) {
            UNROLL for (i32 t = 0; t < FRAGMENT_OCTETS; t++) {
#if HELD
              columns.at[l][t] = octets[f];
#else
              i32 group = u * MATRIX_PARTS + matrix_part();
              columns.at[l][t] = stage[stage_index(16 * r + matrix_line(l), f * FRAGMENT_OCTETS + t, group)];
#endif
            }
          }
          UNROLL for (i32 o = 0; o < OUTPUT_TILES; o++) MULTIPLY(sums[o][r], lines[o], columns);
        }
      }
    }
  }
  cp_async_wait<0>();
  barrier();
  f32* results = reinterpret_cast<f32*>(shared);
  UNROLL for (i32 r = 0; r < ROW_TILES; r++) {
    UNROLL for (i32 o = 0; o < OUTPUT_TILES; o++) {
      UNROLL for (i32 i = 0; i < ROW_SUMS; i++) {
        i32 line = 16 * (wave * OUTPUT_TILES + o) + matrix_row(i);
        results[(16 * r + matrix_column(i)) * SUM_STRIDE + line] = sums[o][r].at[i];
      }
    }
  }
  barrier();
  for (i32 i = thread(); i < used * BLOCK_OUTPUTS; i += THREADS) {
    i32 row = i / BLOCK_OUTPUTS, line = i % BLOCK_OUTPUTS, n = i32(block_x()) * BLOCK_OUTPUTS + line;
    const f32* own = results + row * SUM_STRIDE;
    i64 choice = choices[row];
#if PARTS == 2
    i32 gate = (line & ~15) * 2 + (line & 15);
    write_gated(y, choice, n, outputs, own[gate] * (1.0f / WEIGHT_SCALE) + bias_of(biases, tile.expert, n, outputs),
                own[gate + 16] * (1.0f / WEIGHT_SCALE) + bias_of(biases, expert_count + tile.expert, n, outputs));
#else
    if (n >= outputs) continue;
    static_cast<f32*>(y)[choice * outputs + n] = own[line] * (1.0f / WEIGHT_SCALE) + bias_of(biases, tile.expert, n, outputs);
#endif
  }
}

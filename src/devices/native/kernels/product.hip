// Matrix products for many rows: quantized weights are decoded into shared memory as half floats, once a block, and
// multiplied with half-float activations on the matrix cores. A block computes TILE_OUTPUTS outputs of TILE_ROWS rows with
// four waves, WAVES_ACROSS of them side by side over the outputs.
//
//   OUTPUT  0 f32 (+ bias)   1 f32 + residual   2 activation(gate) * up as halves; gate and up are one product whose tiles of
//           16 outputs take turns   3 the same as f32
#include "activation.h"
#include "halves.h"
#include "matrix.h"
#include PACKED_FORMAT

#define WAVES 4
#define THREADS (WAVES * MATRIX_LANES)
#define WAVES_DOWN (WAVES / WAVES_ACROSS)
#define STEP_GROUPS 2
#define LINE_OCTETS (STEP_GROUPS * GROUP_OCTETS)
#define PARTS (OUTPUT >= 2 ? 2 : 1)
// Tiles of activations on their way: copies that run beside the computation want several.
#ifdef GPU_NVIDIA
#define STAGES 4
#else
#define STAGES 2
#endif

typedef PackedFormat P;

constexpr i32 WAVE_OUTPUTS = TILE_OUTPUTS / WAVES_ACROSS, WAVE_ROWS = TILE_ROWS / WAVES_DOWN;
constexpr i32 OUTPUT_TILES = WAVE_OUTPUTS / 16, ROW_TILES = WAVE_ROWS / 16;
constexpr i32 GROUPS_A_THREAD = TILE_OUTPUTS * STEP_GROUPS / THREADS > 0 ? TILE_OUTPUTS * STEP_GROUPS / THREADS : 1;
/// Weights are kept this many times larger, so that small ones do not fall among the subnormal halves.
constexpr f32 WEIGHT_SCALE = 64.0f;

struct RawGroup {
  P::Q::Loaded quants;
  P::S::Loaded scales;
};

/// Four signed or unsigned bytes less OFFSET, times a scale, plus a min: as halves.
DEVICE u32x2 quad_halves(u32 quad, u32 scale, u32 min) {
  u32 levels = P::levels(quad), bias = pack_halves(1024.0f + P::OFFSET, 1024.0f + P::OFFSET);
  if (P::SIGNED) {
    levels ^= 0x80808080u;
    bias = pack_halves(1152.0f + P::OFFSET, 1152.0f + P::OFFSET);
  }
  // The byte b under the half 1024 is the half 1024 + b.
  u32 low = halves_sub(choose_bytes(levels, 0x64646464u, 0x4140u), bias);
  u32 high = halves_sub(choose_bytes(levels, 0x64646464u, 0x4342u), bias);
  if (P::S::MINS) return {halves_fma(low, scale, min), halves_fma(high, scale, min)};
  return {halves_mul(low, scale), halves_mul(high, scale)};
}

DEVICE u32 twice(f32 value) { return pack_halves(within_halves(value * WEIGHT_SCALE), within_halves(value * WEIGHT_SCALE)); }

DEVICE void store_weights(u32x4* tile, i32 line, i32 group, const RawGroup& raw) {
  GroupScales scales = P::S::of(raw.scales);
  u32 scale[2] = {twice(scales.scale[0]), twice(scales.scale[1])}, min[2] = {twice(scales.min[0]), twice(scales.min[1])};
  UNROLL for (i32 t = 0; t < GROUP_OCTETS; t++) {
    u32x2 low = quad_halves(P::Q::quad(raw.quants, t), scale[0], min[0]);
    u32x2 high = quad_halves(P::Q::quad(raw.quants, t + 4), scale[1], min[1]);
    tile[tile_place<LINE_OCTETS>(line, GROUP_OCTETS * group + t)] = {low.x, low.y, high.x, high.y};
  }
}

DEVICE void clear_weights(u32x4* tile, i32 line, i32 group) {
  UNROLL for (i32 t = 0; t < GROUP_OCTETS; t++) tile[tile_place<LINE_OCTETS>(line, GROUP_OCTETS * group + t)] = {0, 0, 0, 0};
}

/// The row of the packed weights that a line of the block's tile is.
DEVICE i64 weight_row(i32 line, i32 outputs) {
  if (PARTS == 1) return min_of(i32(block_x()) * TILE_OUTPUTS + line, outputs - 1);
  i32 n = i32(block_x()) * (TILE_OUTPUTS / 2) + (line >> 5) * 16 + (line & 15);
  return i64((line >> 4) & 1) * outputs + min_of(n, outputs - 1);
}

struct Weights {
  P::Q::Planes quants;
  P::S::Planes scales;
  i64 starts[GROUPS_A_THREAD];
  i32 groups;
};

DEVICE i32 own_slot(i32 i) { return i * THREADS + thread(); }
DEVICE bool has_slot(i32 i) { return TILE_OUTPUTS * STEP_GROUPS >= THREADS || own_slot(i) < TILE_OUTPUTS * STEP_GROUPS; }

DEVICE void load_weights(const Weights& weights, i32 step, RawGroup* raw) {
  UNROLL for (i32 i = 0; i < GROUPS_A_THREAD; i++) {
    i32 group = min_of(step * STEP_GROUPS + own_slot(i) % STEP_GROUPS, weights.groups - 1);
    raw[i] = {P::Q::load(weights.quants, weights.starts[i] + group), P::S::load(weights.scales, weights.starts[i] + group)};
  }
}

DEVICE void place_weights(u32x4* tile, i32 step, i32 groups, const RawGroup* raw) {
  UNROLL for (i32 i = 0; i < GROUPS_A_THREAD; i++) {
    i32 line = own_slot(i) / STEP_GROUPS, group = own_slot(i) % STEP_GROUPS;
    if (!has_slot(i)) continue;
    if (step * STEP_GROUPS + group < groups) {
      store_weights(tile, line, group, raw[i]);
    } else {
      clear_weights(tile, line, group);
    }
  }
}

/// Rows beyond those in use repeat the last; groups beyond the row's end repeat its last, which meets cleared weights.
DEVICE void copy_activations(u32x4* tile, const u32x4* x, i32 first_row, i32 rows, i32 step, i32 groups) {
  constexpr i32 OCTETS = TILE_ROWS * LINE_OCTETS;
  UNROLL for (i32 i = 0; i < (OCTETS + THREADS - 1) / THREADS; i++) {
    i32 slot = own_slot(i), line = slot / LINE_OCTETS, octet = slot % LINE_OCTETS;
    if (OCTETS % THREADS != 0 && slot >= OCTETS) continue;
    i32 group = min_of(step * STEP_GROUPS + octet / GROUP_OCTETS, groups - 1);
    i64 row = min_of(first_row + line, rows - 1);
    copy_16(tile + tile_place<LINE_OCTETS>(line, octet), x + (row * groups + group) * GROUP_OCTETS + octet % GROUP_OCTETS);
  }
}

DEVICE void multiply_tiles(MatrixSum (*sums)[ROW_TILES], const u32x4* weights, const u32x4* activations) {
  i32 wave = thread() / MATRIX_LANES, across = wave % WAVES_ACROSS, down = wave / WAVES_ACROSS;
  UNROLL for (i32 group = 0; group < STEP_GROUPS; group++) {
    Fragment columns[ROW_TILES];
    UNROLL for (i32 c = 0; c < ROW_TILES; c++) {
      columns[c] = load_fragment<LINE_OCTETS>(activations, down * WAVE_ROWS + 16 * c, group);
    }
    UNROLL for (i32 o = 0; o < OUTPUT_TILES; o++) {
      Fragment rows = load_fragment<LINE_OCTETS>(weights, across * WAVE_OUTPUTS + 16 * o, group);
      UNROLL for (i32 c = 0; c < ROW_TILES; c++) multiply(sums[o][c], rows, columns[c]);
    }
  }
}

#if PARTS == 1
DEVICE void write_output(void* y, const f32* addend, i64 row, i32 n, i32 outputs, f32 value) {
#if OUTPUT == 0
  static_cast<f32*>(y)[row * outputs + n] = addend ? value + addend[n] : value;
#else
  static_cast<f32*>(y)[row * outputs + n] = value + addend[row * outputs + n];
#endif
}
#else
DEVICE void write_gated(void* y, i64 row, i32 n, i32 outputs, f32 gate, f32 up) {
#if OUTPUT == 2
  store_half(static_cast<u16*>(y) + row * outputs, n, activation(gate) * up);
#else
  static_cast<f32*>(y)[row * outputs + n] = activation(gate) * up;
#endif
}
#endif

KERNEL(product, THREADS, const i32* count, const u32x4* x, const u8* weight, i32 outputs, i32 groups, const f32* addend, void* y) {
  DYNAMIC_SHARED(shared);
  constexpr i32 WEIGHT_TILE = TILE_OUTPUTS * LINE_OCTETS, ROW_TILE = TILE_ROWS * LINE_OCTETS;
  u32x4* weight_tiles = reinterpret_cast<u32x4*>(shared);
  u32x4* row_tiles = weight_tiles + 2 * WEIGHT_TILE;
  PlaneCursor cursor = {const_cast<u8*>(weight)};
  Weights weights;
  weights.quants = P::Q::planes(cursor, i64(PARTS) * outputs * groups);
  weights.scales = P::S::planes(cursor, i64(PARTS) * outputs * groups);
  weights.groups = groups;
  UNROLL for (i32 i = 0; i < GROUPS_A_THREAD; i++) {
    weights.starts[i] = weight_row(min_of(own_slot(i) / STEP_GROUPS, TILE_OUTPUTS - 1), outputs) * groups;
  }
  RawGroup near[GROUPS_A_THREAD], far[GROUPS_A_THREAD];
  load_weights(weights, 0, near);
  load_weights(weights, 1, far);
  release_successor();
  await_inputs();
  i32 rows = *count, first_row = block_y() * TILE_ROWS, steps = (groups + STEP_GROUPS - 1) / STEP_GROUPS;
  if (first_row >= rows) return;
  UNROLL for (i32 s = 0; s < STAGES - 1; s++) {
    if (s < steps) copy_activations(row_tiles + s * ROW_TILE, x, first_row, rows, s, groups);
    copies_commit();
  }
  place_weights(weight_tiles, 0, groups, near);
  MatrixSum sums[OUTPUT_TILES][ROW_TILES] = {};
  for (i32 step = 0; step < steps; step++) {
    copies_wait<STAGES - 2>();
    barrier();
    if (step + 2 < steps) load_weights(weights, step + 2, near);
    i32 ahead = step + STAGES - 1;
    if (ahead < steps) copy_activations(row_tiles + ahead % STAGES * ROW_TILE, x, first_row, rows, ahead, groups);
    copies_commit();
    multiply_tiles(sums, weight_tiles + (step & 1) * WEIGHT_TILE, row_tiles + step % STAGES * ROW_TILE);
    if (step + 1 < steps) place_weights(weight_tiles + ((step + 1) & 1) * WEIGHT_TILE, step + 1, groups, far);
    UNROLL for (i32 i = 0; i < GROUPS_A_THREAD; i++) far[i] = near[i];
  }
  i32 wave = thread() / MATRIX_LANES, across = wave % WAVES_ACROSS, down = wave / WAVES_ACROSS;
  UNROLL for (i32 o = 0; o < OUTPUT_TILES; o += PARTS) {
    UNROLL for (i32 c = 0; c < ROW_TILES; c++) {
      UNROLL for (i32 i = 0; i < MATRIX_SUMS; i++) {
        i32 row = first_row + down * WAVE_ROWS + 16 * c + matrix_column(i);
        i32 line = across * WAVE_OUTPUTS + 16 * o;
        f32 value = sums[o][c].at[i] * (1.0f / WEIGHT_SCALE);
#if PARTS == 1
        i32 n = i32(block_x()) * TILE_OUTPUTS + line + matrix_row(i);
        if (row < rows && n < outputs) write_output(y, addend, row, n, outputs, value);
#else
        i32 n = i32(block_x()) * (TILE_OUTPUTS / 2) + line / 2 + matrix_row(i);
        f32 up = sums[o + 1][c].at[i] * (1.0f / WEIGHT_SCALE);
        if (row < rows && n < outputs) write_gated(y, row, n, outputs, value, up);
#endif
      }
    }
  }
}

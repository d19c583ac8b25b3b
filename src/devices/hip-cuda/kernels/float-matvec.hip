// Products of f32 activations with unquantized weights, several of them in one launch: block y has up to ROWS rows from ROWS * y
// on. A team of warps takes LINES outputs, whose weights are in flight before the activations are there.
//
//   WEIGHT      0 f32   1 f16   2 bf16
//   TEAM        warps that share lines, each taking a part of the columns
//   PARAMETERS  the parameters of all products
//   SELECT_PRODUCT      finds the product that the block belongs to: `product`, `x`, `weight`, `outputs`, `columns`, `first_block`
//   EPILOGUE      stores what becomes of `value`, output `n` of a row, at `at` among the product's outputs
#include "activation.h"
#include "reduce.h"

#define WARPS 8
#define LINES 1
constexpr i32 ELEMENTS = WEIGHT == 0 ? 4 : 8;
/// Vectors of a line that a lane loads at once.
constexpr i32 DEPTH = 4;
/// Vectors that a team loads side by side.
constexpr i32 STEP = 32 * TEAM;

struct Batch {
  u32x4 vectors[DEPTH][LINES];
};

DEVICE void widen(u32 word, f32* out) {
#if WEIGHT == 0
  out[0] = bit_cast<f32>(word);
#elif WEIGHT == 1
  out[0] = half_to_float(u16(word)), out[1] = half_to_float(u16(word >> 16));
#else
  out[0] = bit_cast<f32>(word << 16), out[1] = bit_cast<f32>(word & 0xffff0000u);
#endif
}

KERNEL_RESIDENT(float_matvec, 32 * WARPS, (ROWS > 1 ? 2 : 4), const i32* count PARAMETERS) {
  i32 block = block_x(), product = 0, outputs = 0, columns = 0, first_block = 0;
  const f32* x = nullptr;
  const u8* weight = nullptr;
  SELECT_PRODUCT
  i32 team = (thread() >> 5) / TEAM, member = thread() & (32 * TEAM - 1);
  i32 line = (block - first_block) * (WARPS / TEAM * LINES) + team * LINES;
  i32 vectors = columns / ELEMENTS, rounds = (vectors + STEP * DEPTH - 1) / (STEP * DEPTH);
  const u32x4* lines[LINES];
  UNROLL for (i32 l = 0; l < LINES; l++) {
    lines[l] = reinterpret_cast<const u32x4*>(weight) + i64(min_of(line + l, outputs - 1)) * vectors;
  }
  auto load = [&](Batch& batch, i32 round) {
    if (round >= rounds) return;
    UNROLL for (i32 u = 0; u < DEPTH; u++) {
      i32 at = min_of((round * DEPTH + u) * STEP + member, vectors - 1);
      UNROLL for (i32 l = 0; l < LINES; l++) batch.vectors[u][l] = load_streaming(lines[l] + at);
    }
  };
  Batch even, odd;
  load(even, 0);
  load(odd, 1);
  grid_launch_dependents();
  grid_dependency_wait();
  i32 first_row = i32(block_y()) * ROWS, rows = *count - first_row;
  f32 sums[ROWS][LINES] = {};
  auto take = [&](Batch& batch, i32 round) {
    if (round >= rounds) return;
    UNROLL for (i32 u = 0; u < DEPTH; u++) {
      i32 at = (round * DEPTH + u) * STEP + member;
      if (at < vectors) {
        f32 weights[LINES][ELEMENTS];
        UNROLL for (i32 l = 0; l < LINES; l++) {
          u32x4 v = batch.vectors[u][l];
          widen(v.x, weights[l]), widen(v.y, weights[l] + ELEMENTS / 4);
          widen(v.z, weights[l] + ELEMENTS / 2), widen(v.w, weights[l] + ELEMENTS / 4 * 3);
        }
        UNROLL for (i32 r = 0; r < ROWS; r++) {
          const f32x4* from = reinterpret_cast<const f32x4*>(x + i64(first_row + min_of(r, rows - 1)) * columns + at * ELEMENTS);
          UNROLL for (i32 q = 0; q < ELEMENTS / 4; q++) {
            f32x4 four = from[q];
            UNROLL for (i32 l = 0; l < LINES; l++) {
              sums[r][l] = fused_multiply_add(four.x, weights[l][4 * q], sums[r][l]);
              sums[r][l] = fused_multiply_add(four.y, weights[l][4 * q + 1], sums[r][l]);
              sums[r][l] = fused_multiply_add(four.z, weights[l][4 * q + 2], sums[r][l]);
              sums[r][l] = fused_multiply_add(four.w, weights[l][4 * q + 3], sums[r][l]);
            }
          }
        }
      }
    }
    load(batch, round + 2);
  };
  if (rows <= 0) return;
  for (i32 round = 0; round < rounds; round += 2) {
    take(even, round);
    take(odd, round + 1);
  }
#if TEAM == 1
  f32 value = 0;
  UNROLL for (i32 r = 0; r < ROWS; r++) {
    UNROLL for (i32 l = 0; l < LINES; l++) {
      f32 sum = warp_sum(sums[r][l]);
      if (i32(lane()) == r * LINES + l) value = sum;
    }
  }
#else
  SHARED f32 partial_sums[WARPS][ROWS * LINES];
  UNROLL for (i32 r = 0; r < ROWS; r++) {
    UNROLL for (i32 l = 0; l < LINES; l++) {
      f32 sum = warp_sum(sums[r][l]);
      if (lane() == 0) partial_sums[thread() >> 5][r * LINES + l] = sum;
    }
  }
  barrier();
  if (member >= ROWS * LINES) return;
  f32 value = 0;
  UNROLL for (i32 w = 0; w < TEAM; w++) value += partial_sums[team * TEAM + w][member];
#endif
  i32 row = member / LINES, n = line + member % LINES;
  if (row >= ROWS || row >= rows || n >= outputs) return;
  i64 at = i64(first_row + row) * outputs + n;
  EPILOGUE
}

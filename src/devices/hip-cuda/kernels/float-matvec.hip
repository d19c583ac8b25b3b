// Products of f32 activations with unquantized weights, several of them in one launch: block y has up to ROWS rows from ROWS * y
// on. A team of threads takes an output, whose weights are in flight before the activations are there.
//
//   PARAMETERS      the parameters of all products
//   SELECT_PRODUCT  finds the product that the block belongs to: `product`, `x`, `weight`, `up`, `outputs`, `columns`, `first_block`
//   MULTIPLY        computes `out` of it, by `multiplied` for the format of its weights, the threads of a team, and whether it has gates and ups
//   EPILOGUE        stores what becomes of `value`, output `n` of `row`, at `at` among the product's outputs; beside a gate, the up is `out.up`
#include "activation.h"
#include "reduce.h"

constexpr i32 THREADS = 256;
/// Vectors of a line that a thread loads at once.
constexpr i32 DEPTH = 4;

/// The formats of weights.
constexpr i32 F32 = 0, F16 = 1, BF16 = 2;

struct Product {
  const f32* x;
  /// Of gates, where there are ups.
  const u8 *weight, *up;
  i32 outputs, columns, first_block;
};

/// The output that a thread stores, of a row from the block's first on; a negative row where it stores none.
struct Output {
  i32 row, n;
  f32 value, up;
};

template <i32 WEIGHT>
DEVICE void widen(u32 word, f32* out) {
  if constexpr (WEIGHT == F32) out[0] = bit_cast<f32>(word);
  else if constexpr (WEIGHT == F16) out[0] = half_to_float(u16(word)), out[1] = half_to_float(u16(word >> 16));
  else out[0] = bit_cast<f32>(word << 16), out[1] = bit_cast<f32>(word & 0xffff0000u);
}

/// The sum over teams of up to 32 neighbouring lanes.
template <i32 TEAM>
DEVICE f32 team_sum(f32 value) {
  UNROLL for (i32 step = TEAM / 2; step > 0; step >>= 1) value += shuffle_xor(value, step);
  return value;
}

/// Teams of a block at most, and of these the ones that have gates where others have ups.
constexpr i32 MOST_TEAMS = THREADS / 8, MOST_GATES = MOST_TEAMS / 2;

/// Multiplies `rows` rows of a product's activations from `first_row` on by the lines of a block's teams of TEAM threads, half of which
/// take ups with GATED; `shared` has a sum for each warp and row, and one for each up. What is to be there before the activations is read
/// before `grid_dependency_wait`.
template <i32 WEIGHT, i32 TEAM, bool GATED>
DEVICE Output multiplied(const Product& of, i32 first_row, i32 rows, f32* shared) {
  constexpr i32 ELEMENTS = WEIGHT == F32 ? 4 : 8;
  constexpr i32 TEAMS = THREADS / TEAM, OUTPUTS = GATED ? TEAMS / 2 : TEAMS;
  i32 team = thread() / TEAM, member = thread() % TEAM;
  bool has_ups = GATED && team >= OUTPUTS;
  i32 n = (i32(block_x()) - of.first_block) * OUTPUTS + team % OUTPUTS;
  // A thread's vector is QUADS of four elements, which lie a team apart: so the team reads neighbouring activations, too.
  constexpr i32 QUADS = ELEMENTS / 4;
  i32 quads = of.columns / 4, rounds = (quads + TEAM * DEPTH * QUADS - 1) / (TEAM * DEPTH * QUADS);
  const u8* line = (has_ups ? of.up : of.weight) + i64(min_of(n, of.outputs - 1)) * quads * (16 / QUADS);
  auto quad_of = [&](i32 round, i32 u, i32 q) { return ((round * DEPTH + u) * QUADS + q) * TEAM + member; };
  auto load = [&](u32x4* batch, i32 round) {
    if (round >= rounds) return;
    UNROLL for (i32 u = 0; u < DEPTH; u++) {
      i32 at = min_of(quad_of(round, u, 0), quads - 1);
      if constexpr (QUADS == 1) {
        batch[u] = load_streaming(reinterpret_cast<const u32x4*>(line) + at);
      } else {
        u32x2 first = load_streaming(reinterpret_cast<const u32x2*>(line) + at);
        u32x2 second = load_streaming(reinterpret_cast<const u32x2*>(line) + min_of(quad_of(round, u, 1), quads - 1));
        batch[u] = {first.x, first.y, second.x, second.y};
      }
    }
  };
  u32x4 even[DEPTH], odd[DEPTH];
  load(even, 0);
  load(odd, 1);
  grid_launch_dependents();
  grid_dependency_wait();
  if (rows <= 0) return {-1, 0, 0, 0};
  f32 sums[ROWS] = {};
  auto take = [&](u32x4* batch, i32 round) {
    if (round >= rounds) return;
    UNROLL for (i32 u = 0; u < DEPTH; u++) {
      f32 weights[ELEMENTS];
      u32x4 v = batch[u];
      widen<WEIGHT>(v.x, weights), widen<WEIGHT>(v.y, weights + ELEMENTS / 4);
      widen<WEIGHT>(v.z, weights + ELEMENTS / 2), widen<WEIGHT>(v.w, weights + ELEMENTS / 4 * 3);
      UNROLL for (i32 q = 0; q < QUADS; q++) {
        i32 at = quad_of(round, u, q);
        if (at >= quads) continue;
        UNROLL for (i32 r = 0; r < ROWS; r++) {
          f32x4 four = reinterpret_cast<const f32x4*>(of.x + i64(first_row + min_of(r, rows - 1)) * of.columns)[at];
          sums[r] = fused_multiply_add(four.x, weights[4 * q], sums[r]);
          sums[r] = fused_multiply_add(four.y, weights[4 * q + 1], sums[r]);
          sums[r] = fused_multiply_add(four.z, weights[4 * q + 2], sums[r]);
          sums[r] = fused_multiply_add(four.w, weights[4 * q + 3], sums[r]);
        }
      }
    }
    load(batch, round + 2);
  };
  for (i32 round = 0; round < rounds; round += 2) {
    take(even, round);
    take(odd, round + 1);
  }
  f32 value = 0;
  if constexpr (TEAM <= LANES) {
    UNROLL for (i32 r = 0; r < ROWS; r++) {
      f32 sum = team_sum<TEAM>(sums[r]);
      if (member == r) value = sum;
    }
  } else {
    UNROLL for (i32 r = 0; r < ROWS; r++) {
      f32 sum = warp_sum(sums[r]);
      if (lane() == 0) shared[(thread() / LANES) * ROWS + r] = sum;
    }
    barrier();
    constexpr i32 WARPS = TEAM / LANES;
    UNROLL for (i32 w = 0; w < WARPS; w++) value += shared[(team * WARPS + w) * ROWS + min_of(member, ROWS - 1)];
  }
  f32 up = 0;
  if constexpr (GATED) {
    f32* ups = shared + THREADS / LANES * ROWS;
    i32 place = min_of(member, ROWS - 1) * MOST_GATES + team % OUTPUTS;
    if (has_ups && member < ROWS) ups[place] = value;
    barrier();
    up = ups[place];
  }
  bool stores = member < ROWS && member < rows && n < of.outputs && !has_ups;
  return {stores ? member : -1, n, value, up};
}

KERNEL_RESIDENT(float_matvec, THREADS, (ROWS > 1 ? 2 : 4), const i32* count PARAMETERS) {
  SHARED f32 shared[(THREADS / LANES + MOST_GATES) * ROWS];
  i32 block = block_x(), product = 0, outputs = 0, columns = 0, first_block = 0;
  const f32* x = nullptr;
  const u8 *weight = nullptr, *up = nullptr;
  i32 first_row = i32(block_y()) * ROWS, rows = *count - first_row;
  SELECT_PRODUCT
  Product of = {x, weight, up, outputs, columns, first_block};
  Output out = {};
  MULTIPLY
  if (out.row < 0) return;
  i32 n = out.n;
  f32 value = out.value;
  i64 row = first_row + out.row, at = row * outputs + n;
  EPILOGUE
}

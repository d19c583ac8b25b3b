// What becomes of the recurrence's result in an RWKV-7 layer: normalized by heads, the bonus of the row's own token added, and gated.
// A warp takes a head of a row; the replacement key is made as in wkv7-chunks.hip.
#include "reduce.h"

constexpr i32 THREADS = 256, LANE_ELEMENTS = HEAD_SIZE / LANES;

KERNEL(wkv7_finish, THREADS, const i32* rows_in_use, const f32* recurrence, const f32* r, const f32* k, const f32* v, const f32* a,
       const f32* k_a, const f32* r_k, const f32* norm_weight, const f32* norm_bias, const f32* gate, f32* out,
       i32 width, f32 norm_epsilon) {
  grid_launch_dependents();
  grid_dependency_wait();
  i32 warp = block_x() * (THREADS / LANES) + thread() / LANES, heads = width / HEAD_SIZE;
  i32 row = warp / heads;
  if (row >= *rows_in_use) return;
  i32 n = warp % heads * HEAD_SIZE + lane();
  i64 i = i64(row) * width + n;
  f32 bonus = 0, sum = 0, value[LANE_ELEMENTS];
  UNROLL for (i32 c = 0; c < LANE_ELEMENTS; c++) {
    i32 at = c * LANES;
    f32 key = k[i + at];
    key += (key * a[i + at] - key) * k_a[n + at];
    bonus += r[i + at] * key * r_k[n + at];
    value[c] = recurrence[i + at];
    sum += value[c];
  }
  bonus = warp_sum(bonus);
  f32 mean = warp_sum(sum) / f32(HEAD_SIZE), square = 0;
  UNROLL for (i32 c = 0; c < LANE_ELEMENTS; c++) {
    value[c] -= mean;
    square += value[c] * value[c];
  }
  f32 deviation = square_root(warp_sum(square) / f32(HEAD_SIZE) + norm_epsilon);
  UNROLL for (i32 c = 0; c < LANE_ELEMENTS; c++) {
    i32 at = c * LANES;
    f32 normed = value[c] / deviation * norm_weight[n + at] + norm_bias[n + at];
    out[i + at] = (normed + v[i + at] * bonus) * gate[i + at];
  }
}

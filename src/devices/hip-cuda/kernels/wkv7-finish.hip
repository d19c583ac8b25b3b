// What becomes of the recurrence's result in an RWKV-7 layer: normalized by heads, joined by the rows' own tokens' part, and gated.
// A warp takes a head of a row; the key is drawn as in wkv7-chunks.hip.
#include "reduce.h"

constexpr i32 THREADS = 256, SHARE = HEAD_SIZE / LANES;

KERNEL(wkv7_finish, THREADS, const i32* rows_in_use, const f32* mixed, const f32* r, const f32* k, const f32* v, const f32* a,
       const f32* draws, const f32* own_factors, const f32* norm_factors, const f32* norm_terms, const f32* gate, f32* out,
       i32 width, f32 norm_epsilon) {
  release_successor();
  await_inputs();
  i32 warp = block_x() * (THREADS / LANES) + thread() / LANES, heads = width / HEAD_SIZE;
  i32 row = warp / heads;
  if (row >= *rows_in_use) return;
  i32 n = warp % heads * HEAD_SIZE + lane();
  i64 i = i64(row) * width + n;
  f32 own = 0, sum = 0, value[SHARE];
  UNROLL for (i32 c = 0; c < SHARE; c++) {
    i32 at = c * LANES;
    f32 key = k[i + at];
    key += (key * a[i + at] - key) * draws[n + at];
    own += r[i + at] * key * own_factors[n + at];
    value[c] = mixed[i + at];
    sum += value[c];
  }
  own = warp_sum(own);
  f32 mean = warp_sum(sum) / f32(HEAD_SIZE), square = 0;
  UNROLL for (i32 c = 0; c < SHARE; c++) {
    value[c] -= mean;
    square += value[c] * value[c];
  }
  f32 deviation = square_root(warp_sum(square) / f32(HEAD_SIZE) + norm_epsilon);
  UNROLL for (i32 c = 0; c < SHARE; c++) {
    i32 at = c * LANES;
    f32 normed = value[c] / deviation * norm_factors[n + at] + norm_terms[n + at];
    out[i + at] = (normed + v[i + at] * own) * gate[i + at];
  }
}

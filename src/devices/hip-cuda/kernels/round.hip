// Rows of f32 as f16, or with BFLOATS as bf16, in the order in which they stand, for products by weights of that type. On the way rows
// are RMS-normed where NORMED. Of f16, numbers beyond its range are the largest. A block a row; a thread has OWN vectors of a row.
//
//   FUNCTION  1: of the rows' activation   2: they are gates, which the activation turns into factors of `up`
#include "activation.h"
#include "results.h"
#include "row-vectors.h"

static_assert(ROUNDED, "rows stand as they do in x");

KERNEL(round_rows, THREADS, const i32* count, const f32* x, const f32* up, const f32* weight, u16* out, i32 width, f32 epsilon) {
  SHARED f32 sums[THREADS / 32];
  RowVectors row;
  row.load_weight(weight, width);
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  i32 index = block_x();
  if (index >= used) return;
  i64 start = i64(index) * width;
  row.load(x + start, width);
  row.norm(sums, width, epsilon);
  UNROLL for (i32 k = 0; k < OWN; k++) {
    i32 i = RowVectors::place(k);
    if (i >= width) continue;
    f32x4 v = row.at(k);
#if FUNCTION == 1
    v = {activation(v.x), activation(v.y), activation(v.z), activation(v.w)};
#elif FUNCTION == 2
    f32x4 u = *reinterpret_cast<const f32x4*>(up + start + i);
    v = {gated(v.x, u.x), gated(v.y, u.y), gated(v.z, u.z), gated(v.w, u.w)};
#endif
    u32x2 halves = {rounded(v.x) | u32(rounded(v.y)) << 16, rounded(v.z) | u32(rounded(v.w)) << 16};
    store_results(out, index, width, i, halves);
  }
}

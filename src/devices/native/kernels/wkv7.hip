// RWKV-7's recurrence: a block takes a head of a slot, a thread a row of the head's matrix, which stays in registers from the
// slot's first row to its last.
#include "prelude.h"

KERNEL(wkv7_rows, HEAD_SIZE, const i32* count, const i32* slots, const i32* positions, const f32* r, const f32* w,
                            const f32* k, const f32* v, const f32* kk, const f32* a, f32* state, f32* out, i32 width) {
  SHARED f32 shared_r[HEAD_SIZE];
  SHARED f32 shared_w[HEAD_SIZE];
  SHARED f32 shared_k[HEAD_SIZE];
  SHARED f32 shared_removal[HEAD_SIZE];
  SHARED f32 shared_rate[HEAD_SIZE];
  await_inputs();
  i32 slot = block_y();
  i32 rows = *count;
  f32* kept = state + (i64(slot) * width + i64(block_x()) * HEAD_SIZE + thread()) * HEAD_SIZE;
  f32 line[HEAD_SIZE];
  bool loaded = false;
  for (i32 row = 0; row < rows; row++) {
    if (slots[row] != slot) continue;
    if (positions[row] == 0) {
      for (i32 j = 0; j < HEAD_SIZE; j++) line[j] = 0;
    } else if (!loaded) {
      for (i32 j = 0; j < HEAD_SIZE; j++) line[j] = kept[j];
    }
    loaded = true;
    i64 i = i64(row) * width + i64(block_x()) * HEAD_SIZE + thread();
    shared_r[thread()] = r[i];
    shared_w[thread()] = w[i];
    shared_k[thread()] = k[i];
    shared_removal[thread()] = kk[i];
    shared_rate[thread()] = kk[i] * a[i];
    barrier();
    f32 removed = 0;
    for (i32 j = 0; j < HEAD_SIZE; j++) removed -= line[j] * shared_removal[j];
    f32 value = v[i];
    f32 sum = 0;
    for (i32 j = 0; j < HEAD_SIZE; j++) {
      line[j] = line[j] * shared_w[j] + (removed * shared_rate[j] + value * shared_k[j]);
      sum += line[j] * shared_r[j];
    }
    out[i] = sum;
    barrier();
  }
  if (!loaded) return;
  for (i32 j = 0; j < HEAD_SIZE; j++) kept[j] = line[j];
}

// RWKV-7's recurrence: a block takes a head of a slot; SPLIT threads take a row of the head's matrix, which stays in registers
// from the slot's first row to its last.
//
//   FUSED  the operators around the recurrence are computed with it: the replacement key is k * (1 + (a - 1) *
//          k_a), the removal key k * k_k scaled to the length 1, and what comes out is normalized, the bonus added, and gated
#include "slot-rows.h"

constexpr i32 THREADS = HEAD_SIZE * SPLIT, COLUMNS = HEAD_SIZE / SPLIT;
/// Blocks that a multiprocessor should hold, so that some load a head's matrix while others compute.
constexpr i32 RESIDENT = SPLIT == 1 || THREADS > 512 ? 1 : 1024 / THREADS;

#if FUSED
#define FUSED_PARAMETERS                                                                                               \
  , const f32 *k_k, const f32 *k_a, const f32 *r_k, const f32 *norm_weight, const f32 *norm_bias, \
      const f32 *gate, f32 length_epsilon, f32 norm_epsilon
#else
#define FUSED_PARAMETERS , const f32* kk
#endif

/// A row's operands of the head.
struct alignas(16) Shared {
  f32 r[HEAD_SIZE], w[HEAD_SIZE], k[HEAD_SIZE], removal[HEAD_SIZE], rate[HEAD_SIZE];
};

#if FUSED
/// The sum over a head's values, which every thread of a row holds alike.
DEVICE f32 head_sum(f32 value, f32* sums) {
  f32 sum = block_sum<THREADS / 32>(value, sums) / f32(SPLIT);
  barrier();
  return sum;
}
#endif

KERNEL_RESIDENT(wkv7_rows, THREADS, RESIDENT, const i32* count, const i32* slots, const i32* slot_rows, const i32* positions, const f32* r, const f32* w,
       const f32* k, const f32* v, const f32* a, f32* state, f32* out, i32 width FUSED_PARAMETERS) {
  SHARED Shared shared;
#if FUSED
  SHARED f32 sums[(THREADS + 31) / 32];
#endif
  grid_launch_dependents();
  grid_dependency_wait();
  SlotRows own_rows = rows_of_block(count, slots, slot_rows);
  if (own_rows.first >= own_rows.end) return;
  i32 slot = own_rows.slot, own = thread() / SPLIT, part = thread() % SPLIT, head = block_x() * HEAD_SIZE;
  f32* stored = state + (i64(slot) * width + head + own) * HEAD_SIZE;
  f32 line[COLUMNS];
  load_columns<SPLIT, COLUMNS>(line, stored, part);
  for (i32 row = own_rows.first; row < own_rows.end; row++) {
    if (slots[row] != slot) continue;
    if (positions[row] == 0) {
      UNROLL for (i32 c = 0; c < COLUMNS; c++) line[c] = 0;
    }
    i64 i = i64(row) * width + head + own;
    f32 key = k[i], rate = a[i], value = v[i], receptance = r[i];
#if FUSED
    i32 n = head + own;
    f32 removal = key * k_k[n];
    removal /= max_of(length_epsilon, square_root(head_sum(removal * removal, sums)));
    key = key + (key * rate - key) * k_a[n];
    f32 bonus = head_sum(receptance * key * r_k[n], sums);
#else
    f32 removal = kk[i];
#endif
    if (part == 0) {
      shared.r[own] = receptance;
      shared.w[own] = w[i];
      shared.k[own] = key;
      shared.removal[own] = removal;
      shared.rate[own] = removal * rate;
    }
    barrier();
    f32 removed = 0, sum = 0;
    UNROLL for (i32 c = 0; c < COLUMNS; c++) removed -= line[c] * shared.removal[column_of<SPLIT>(part, c)];
    removed = row_sum<SPLIT>(removed);
    UNROLL for (i32 c = 0; c < COLUMNS; c++) {
      i32 j = column_of<SPLIT>(part, c);
      line[c] = line[c] * shared.w[j] + (removed * shared.rate[j] + value * shared.k[j]);
      sum += line[c] * shared.r[j];
    }
    sum = row_sum<SPLIT>(sum);
#if FUSED
    f32 mean = head_sum(sum, sums) / f32(HEAD_SIZE), centred = sum - mean;
    f32 deviation = square_root(head_sum(centred * centred, sums) / f32(HEAD_SIZE) + norm_epsilon);
    sum = (centred / deviation * norm_weight[n] + norm_bias[n] + value * bonus) * gate[i];
#endif
    if (part == 0) out[i] = sum;
    barrier();
  }
  store_columns<SPLIT, COLUMNS>(stored, line, part);
}

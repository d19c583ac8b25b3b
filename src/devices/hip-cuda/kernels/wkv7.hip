// RWKV-7's recurrence: a block takes a head of a slot; SPLIT threads take a row of the head's matrix, which stays in registers
// from the slot's first row to its last.
//
//   FUSED  the operators around the recurrence are computed with it: the replacement key is k * (1 + (a - 1) *
//          k_a), the removal key k * k_k scaled to the length 1, and what comes out is normalized, the bonus added, and gated. Every warp
//          computes the sums over a head that this takes by itself, so that only two barriers are left of a row
#include "slot-rows.h"

constexpr i32 THREADS = HEAD_SIZE * SPLIT, COLUMNS = HEAD_SIZE / SPLIT;
/// Blocks that a multiprocessor should hold, so that some load a head's matrix while others compute.
constexpr i32 RESIDENT = SPLIT == 1 || THREADS > 512 ? 1 : 1024 / THREADS;

#if FUSED
#define FUSED_PARAMETERS                                                                                               \
  , const f32 *k_k, const f32 *k_a, const f32 *r_k, const f32 *norm_weight, const f32 *norm_bias, \
      const f32 *gate, f32 length_epsilon, f32 norm_epsilon
/// Values of a head that a warp's lane has; the warp stores those of its own number.
constexpr i32 ELEMENTS = (HEAD_SIZE + 31) / 32;
#else
#define FUSED_PARAMETERS , const f32* kk
#endif

/// A row's operands of the head, and what the matrix makes of its receptance.
struct alignas(16) Shared {
  f32 r[HEAD_SIZE], w[HEAD_SIZE], k[HEAD_SIZE], removal[HEAD_SIZE], rate[HEAD_SIZE];
#if FUSED
  f32 sums[HEAD_SIZE];
#endif
};

KERNEL_RESIDENT(wkv7_rows, THREADS, RESIDENT, const i32* count, const i32* slots, const i32* slot_rows, const i32* positions, const f32* r, const f32* w,
       const f32* k, const f32* v, const f32* a, f32* state, f32* out, i32 width FUSED_PARAMETERS) {
  SHARED Shared shared;
  grid_launch_dependents();
  // The state and all weights are there before the rows' operands: no other launch of a step writes them.
  SlotRows own_rows = rows_of_block(count, slots, slot_rows);
  bool used = own_rows.first < own_rows.end;
  i32 slot = own_rows.slot, own = thread() / SPLIT, part = thread() % SPLIT, head = block_x() * HEAD_SIZE;
  f32* stored = state + (i64(slot) * width + head + own) * HEAD_SIZE;
  f32 line[COLUMNS];
  if (used) load_columns<SPLIT, COLUMNS>(line, stored, part);
#if FUSED
  i32 warp = thread() >> 5, stored_element = 32 * warp + i32(lane());
  bool stores = stored_element < HEAD_SIZE;
  i32 element = stores ? stored_element : 0;
  f32 removal_factor = k_k[head + element], key_factor = k_a[head + element];
  f32 norm_factor = norm_weight[head + element], norm_shift = norm_bias[head + element];
  f32 removal_factors[ELEMENTS], key_factors[ELEMENTS], bonus_factors[ELEMENTS];
  UNROLL for (i32 e = 0; e < ELEMENTS; e++) {
    i32 j = head + min_of(32 * e + i32(lane()), HEAD_SIZE - 1);
    removal_factors[e] = k_k[j], key_factors[e] = k_a[j], bonus_factors[e] = r_k[j];
  }
#else
  bool stores = part == 0;
  i32 element = own;
#endif
  i32 position = used ? positions[own_rows.first] : 0;
  grid_dependency_wait();
  if (!used) return;
  for (i32 row = own_rows.first; row < own_rows.end; row++) {
    if (row > own_rows.first) {
      if (slots[row] != slot) continue;
      position = positions[row];
    }
    if (position == 0) {
      UNROLL for (i32 c = 0; c < COLUMNS; c++) line[c] = 0;
    }
    i64 start = i64(row) * width + head, i = start + element;
    f32 value = v[start + own], decay = w[i], receptance = r[i], key = k[i], rate = a[i];
#if FUSED
    f32 stored_value = v[i], stored_gate = gate[i];
    f32 length = 0, bonus = 0;
    UNROLL for (i32 e = 0; e < ELEMENTS; e++) {
      i32 j = 32 * e + lane();
      if (j >= HEAD_SIZE) continue;
      f32 own_key = k[start + j], scaled = own_key * removal_factors[e];
      length += scaled * scaled;
      bonus += r[start + j] * (own_key + (own_key * a[start + j] - own_key) * key_factors[e]) * bonus_factors[e];
    }
    length = warp_sum(length);
    bonus = warp_sum(bonus);
    f32 removal = key * removal_factor / max_of(length_epsilon, square_root(length));
    key = key + (key * rate - key) * key_factor;
#else
    f32 removal = kk[i];
#endif
    if (stores) {
      shared.r[element] = receptance;
      shared.w[element] = decay;
      shared.k[element] = key;
      shared.removal[element] = removal;
      shared.rate[element] = removal * rate;
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
    if (part == 0) shared.sums[own] = sum;
    barrier();
    f32 mean = 0, square = 0;
    UNROLL for (i32 e = 0; e < ELEMENTS; e++) mean += 32 * e + i32(lane()) < HEAD_SIZE ? shared.sums[32 * e + lane()] : 0.0f;
    mean = warp_sum(mean) / f32(HEAD_SIZE);
    UNROLL for (i32 e = 0; e < ELEMENTS; e++) {
      f32 centred = 32 * e + i32(lane()) < HEAD_SIZE ? shared.sums[32 * e + lane()] - mean : 0.0f;
      square += centred * centred;
    }
    f32 deviation = square_root(warp_sum(square) / f32(HEAD_SIZE) + norm_epsilon);
    f32 normed = (shared.sums[element] - mean) / deviation * norm_factor + norm_shift;
    if (stores) out[i] = (normed + stored_value * bonus) * stored_gate;
#else
    if (stores) out[i] = sum;
    barrier();
#endif
  }
  store_columns<SPLIT, COLUMNS>(stored, line, part);
}

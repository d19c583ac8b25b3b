// RWKV-7's recurrence for rows of a sequence that stand together, CHUNK of them at a time (Yang et al. 2024, "Parallelizing Linear
// Transformers with the Delta Rule over Sequence Length"; flash-linear-attention's RWKV-7). A block takes SLICE rows of the
// matrix of a head of a slot, which do not know of each other, from the slot's first row to its last.
//
// With `D[t]` the product of a chunk's decays up to its row t, and `S` the matrix before the chunk:
//
//   before[t] = -removal[t] * D[t - 1]     rate'[s] = removal[s] * a[s] / D[s]
//   after[t]  = r[t] * D[t]                key'[s]  = k[s] / D[s]
//   removed[t] = S before[t] + sum over s < t of removed[s] (before[t] . rate'[s]) + v[s] (before[t] . key'[s])
//   out[t]     = S after[t] + sum over s <= t of removed[s] (after[t] . rate'[s]) + v[s] (after[t] . key'[s])
//   S          = (S + sum over s of removed[s] rate'[s]^T + v[s] key'[s]^T) * D[last]
//
// All dot products are one product of matrices, `left` by `right`; only `removed` is computed row after row. Each factor is as
// precise as its decays, because a sum never holds one that is larger than what it is for.
//
//   FUSED  the replacement key is k * (1 + (a - 1) * k_a) and the removal key k * k_k scaled to the length 1; what comes out is
//          finished by wkv7_finish
#include "slot-rows.h"

constexpr i32 THREADS = 256, CHUNK = 16, SLICE = 16, LINE = HEAD_SIZE + 4, PRODUCTS = 3 * CHUNK + 4;
/// Threads of a column of the head, and what each has of a chunk's rows and of the slice's.
constexpr i32 TEAM = THREADS / HEAD_SIZE, THREAD_ROWS = CHUNK / TEAM, WARPS = HEAD_SIZE / LANES;

#if FUSED
#define FUSED_PARAMETERS , const f32 *k_k, const f32 *k_a, f32 length_epsilon
#else
#define FUSED_PARAMETERS , const f32* kk
#endif

struct Shared {
  /// `before`, then `after`.
  alignas(16) f32 left[2 * CHUNK][LINE];
  /// `rate'`, `key'`, then the matrix's rows.
  alignas(16) f32 right[2 * CHUNK + SLICE][LINE];
  /// The products of left and right, those that nothing needs 0.
  alignas(16) f32 products[2 * CHUNK][PRODUCTS];
  alignas(16) f32 value[CHUNK][SLICE], removed[CHUNK][SLICE];
  f32 decay[TEAM][HEAD_SIZE], squares[CHUNK][WARPS];
};

/// What a thread has of a chunk's rows: THREAD_ROWS rows of a column, and an element of the values.
struct Operands {
  f32 r[THREAD_ROWS], w[THREAD_ROWS], k[THREAD_ROWS], a[THREAD_ROWS], removal[THREAD_ROWS], value;
};

DEVICE const f32x4& four_of(const f32* at) { return *reinterpret_cast<const f32x4*>(at); }

DEVICE f32 add_products(const f32x4& a, const f32x4& b, f32 sum) {
  sum = fused_multiply_add(a.x, b.x, sum);
  sum = fused_multiply_add(a.y, b.y, sum);
  sum = fused_multiply_add(a.z, b.z, sum);
  return fused_multiply_add(a.w, b.w, sum);
}

DEVICE void add_scaled(const f32x4& four, f32 factor, f32* sums) {
  sums[0] = fused_multiply_add(four.x, factor, sums[0]);
  sums[1] = fused_multiply_add(four.y, factor, sums[1]);
  sums[2] = fused_multiply_add(four.z, factor, sums[2]);
  sums[3] = fused_multiply_add(four.w, factor, sums[3]);
}

/// Each thread computes two rows by three columns of the products; a warp, eight rows by 24 columns.
DEVICE void multiply_all(Shared& shared) {
  i32 warp = thread() / LANES, row = warp / 2 * 8 + i32(lane()) / 8, column = warp % 2 * 24 + i32(lane()) % 8;
  f32 sums[2][3] = {};
  UNROLL for (i32 j = 0; j < HEAD_SIZE; j += 4) {
    f32x4 left[2] = {four_of(&shared.left[row][j]), four_of(&shared.left[row + 4][j])};
    UNROLL for (i32 c = 0; c < 3; c++) {
      f32x4 right = four_of(&shared.right[column + 8 * c][j]);
      UNROLL for (i32 l = 0; l < 2; l++) {
        sums[l][c] = add_products(left[l], right, sums[l][c]);
      }
    }
  }
  UNROLL for (i32 l = 0; l < 2; l++) {
    UNROLL for (i32 c = 0; c < 3; c++) {
      i32 t = row + 4 * l, s = column + 8 * c;
      // What stands before a row sees the rows before it, what stands after a row that row too.
      bool causal = s >= 2 * CHUNK || (t < CHUNK ? s % CHUNK < t : s % CHUNK <= t - CHUNK);
      shared.products[t][s] = causal ? sums[l][c] : 0;
    }
  }
}

/// Makes `removed` of what is known of it without the chunk's rows before: a thread takes a value of all rows.
DEVICE void solve(Shared& shared, i32 value) {
  f32 removed[CHUNK];
  UNROLL for (i32 t = 0; t < CHUNK; t++) removed[t] = shared.removed[t][value];
  UNROLL for (i32 s = 0; s < CHUNK; s++) {
    UNROLL for (i32 t = s + 1; t < CHUNK; t++) {
      removed[t] = fused_multiply_add(shared.products[t][s], removed[s], removed[t]);
    }
  }
  UNROLL for (i32 t = 1; t < CHUNK; t++) shared.removed[t][value] = removed[t];
}

/// The sum of `factors` by a column of `values`.
DEVICE f32 weighted_sum(const f32* factors, const f32 (&values)[CHUNK][SLICE], i32 column) {
  f32 sum = 0;
  UNROLL for (i32 s = 0; s < CHUNK; s += 4) {
    f32x4 four = {values[s][column], values[s + 1][column], values[s + 2][column], values[s + 3][column]};
    sum = add_products(four_of(factors + s), four, sum);
  }
  return sum;
}

KERNEL_RESIDENT(wkv7_chunks, THREADS, 2, const i32* count, const i32* slots, const i32* slot_rows, const i32* positions, const f32* r, const f32* w,
       const f32* k, const f32* v, const f32* a, f32* state, f32* out, i32 width FUSED_PARAMETERS) {
  SHARED Shared shared;
  grid_launch_dependents();
  grid_dependency_wait();
  constexpr i32 SLICES = HEAD_SIZE / SLICE;
  SlotRows own_rows = rows_of_block(count, slots, slot_rows);
  if (own_rows.first >= own_rows.end) return;
  i32 slot = own_rows.slot, rows = own_rows.end, head = block_x() / SLICES * HEAD_SIZE, slice = block_x() % SLICES * SLICE;
  i32 id = thread(), column = id % HEAD_SIZE, member = id / HEAD_SIZE, first_row = member * THREAD_ROWS;
  i32 n = head + column, own_row = id / SLICE, own_value = id % SLICE;

  auto load = [&](const Chunk& chunk) {
    Operands of;
    UNROLL for (i32 q = 0; q < THREAD_ROWS; q++) {
      bool used = first_row + q < chunk.count;
      i64 i = i64(chunk.first + first_row + q) * width + n;
      of.r[q] = used ? r[i] : 0;
      of.w[q] = used ? w[i] : 1;
      of.k[q] = used ? k[i] : 0;
      of.a[q] = used ? a[i] : 0;
#if !FUSED
      of.removal[q] = used ? kk[i] : 0;
#endif
    }
    of.value = own_row < chunk.count ? v[i64(chunk.first + own_row) * width + head + slice + own_value] : 0;
    return of;
  };

  Chunk chunk = next_chunk<CHUNK>(own_rows.first, rows, slot, slots, positions);
  // A thread has THREAD_ROWS rows of a column of the slice.
  f32* stored = state + (i64(slot) * width + head + slice + first_row) * HEAD_SIZE + column;
  f32 line[THREAD_ROWS];
  UNROLL for (i32 q = 0; q < THREAD_ROWS; q++) line[q] = stored[q * HEAD_SIZE];
  Operands of = load(chunk);
#if FUSED
  f32 own_k_k = k_k[n], own_k_a = k_a[n];
#endif

  while (chunk.count > 0) {
    Chunk next = next_chunk<CHUNK>(chunk.first + chunk.count, rows, slot, slots, positions);
    f32 decay = 1;
    UNROLL for (i32 q = 0; q < THREAD_ROWS; q++) decay *= of.w[q];
    shared.decay[member][column] = decay;
#if FUSED
    UNROLL for (i32 q = 0; q < THREAD_ROWS; q++) {
      of.removal[q] = of.k[q] * own_k_k;
      of.k[q] += (of.k[q] * of.a[q] - of.k[q]) * own_k_a;
      f32 square = warp_sum(of.removal[q] * of.removal[q]);
      if (lane() == 0) shared.squares[first_row + q][column / LANES] = square;
    }
#endif
    barrier();
    f32 decayed = 1, chunk_decay = 1;
    UNROLL for (i32 m = 0; m < TEAM; m++) {
      f32 factor = shared.decay[m][column];
      chunk_decay *= factor;
      if (m < member) decayed *= factor;
    }
    UNROLL for (i32 q = 0; q < THREAD_ROWS; q++) {
      i32 t = first_row + q;
      f32 removal = of.removal[q];
#if FUSED
      f32 square = 0;
      UNROLL for (i32 warp = 0; warp < WARPS; warp++) square += shared.squares[t][warp];
      removal /= max_of(length_epsilon, square_root(square));
#endif
      shared.left[t][column] = -removal * decayed;
      decayed *= of.w[q];
      shared.left[CHUNK + t][column] = of.r[q] * decayed;
      shared.right[t][column] = removal * of.a[q] / decayed;
      shared.right[CHUNK + t][column] = of.k[q] / decayed;
    }
    UNROLL for (i32 q = 0; q < THREAD_ROWS; q++) {
      if (chunk.begins) line[q] = 0;
      shared.right[2 * CHUNK + first_row + q][column] = line[q];
    }
    shared.value[own_row][own_value] = of.value;
    of = load(next);
    barrier();

    multiply_all(shared);
    barrier();

    const f32 *before = shared.products[own_row], *after = shared.products[CHUNK + own_row];
    shared.removed[own_row][own_value] =
        before[2 * CHUNK + own_value] + weighted_sum(before + CHUNK, shared.value, own_value);
    f32 sum = after[2 * CHUNK + own_value] + weighted_sum(after + CHUNK, shared.value, own_value);
    barrier();
    if (id < SLICE) solve(shared, id);
    barrier();

    sum += weighted_sum(after, shared.removed, own_value);
    if (own_row < chunk.count) out[i64(chunk.first + own_row) * width + head + slice + own_value] = sum;
    UNROLL for (i32 s = 0; s < CHUNK; s++) {
      f32 rate = shared.right[s][column], key = shared.right[CHUNK + s][column];
      UNROLL for (i32 q = 0; q < THREAD_ROWS; q += 4) {
        add_scaled(four_of(&shared.removed[s][first_row + q]), rate, line + q);
        add_scaled(four_of(&shared.value[s][first_row + q]), key, line + q);
      }
    }
    UNROLL for (i32 q = 0; q < THREAD_ROWS; q++) line[q] *= chunk_decay;
    chunk = next;
  }
  UNROLL for (i32 q = 0; q < THREAD_ROWS; q++) stored[q * HEAD_SIZE] = line[q];
}

/**
 * Attention of single rows over a paged cache. A workgroup of 128 threads computes up to `HEADS` query heads of one key head for
 * one row and one partition of its context, 32 positions at a time with an online softmax (Milakov & Gimelshein 2018): four
 * threads a position for its scores, 32 threads a head for the weights, then a thread some of the values' elements, `SLICES` of
 * the positions side by side. `emit` says where a result goes.
 */
export const ATTENTION = /* wgsl */ `
const GROUP_SUMS = 128u * OWN_WORDS * UNIT;
var<workgroup> queries: array<f32, HEADS * KEY>;
var<workgroup> weights: array<f32, HEADS * 32u>;
var<workgroup> cells: array<u32, 32>;
var<workgroup> largest: array<f32, 4>;
var<workgroup> totals: array<f32, 4>;
var<workgroup> kept: array<f32, 4>;
var<workgroup> slice_sums: array<f32, HEADS * GROUP_SUMS>;

// The scores of 32 positions origin start on, of which those before end count.
fn score(start: u32, end: u32, slot: u32, kv_head: u32, thread: u32) {
  let place = thread / 4u;
  let part = thread % 4u;
  let position = min(start + place, end - 1u);
  let cell = cell_of(slot, position);
  let origin = (cell * KV_HEADS + kv_head) * (KEY / UNIT);
  var sums: array<f32, HEADS>;
  for (var word = part; word < KEY / UNIT; word += 4u) {
    let key = key_unit(origin + word);
    for (var h = 0u; h < HEADS; h++) { sums[h] = plus_product(sums[h], h * KEY + word * UNIT, key); }
  }
  for (var h = 0u; h < HEADS; h++) {
    let sum = four_sum(sums[h], thread);
    if (part == 0u) { weights[h * 32u + place] = select(LOWEST, capped(sum), start + place < end); }
  }
  if (part == 0u) { cells[place] = cell; }
  workgroupBarrier();
}

// The softmax weights of scores, relative to the largest so far.
fn weigh(start: u32, end: u32, thread: u32) {
  let head = thread / 32u;
  let place = thread % 32u;
  let own = select(LOWEST, weights[min(head, HEADS - 1u) * 32u + place], head < HEADS);
  let before = largest[head];
  let most = max(before, team_max(own, thread));
  let used = head < HEADS && start + place < end;
  let weight = select(0.0, exponential(own - most), used);
  let total = team_sum(weight, thread);
  if (head < HEADS) { weights[head * 32u + place] = weight; }
  workgroupBarrier();
  if (place == 0u) {
    kept[head] = exponential(before - most);
    totals[head] = fma(totals[head], kept[head], total);
    largest[head] = most;
  }
  workgroupBarrier();
}

@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  let row = group.x;
  if (row >= u32(counts[COUNT])) { return; }
  let kv_head = group.y / HEAD_GROUPS;
  let first_of_group = group.y % HEAD_GROUPS * HEADS;
  let head = kv_head * GROUP + first_of_group;
  let used_heads = min(HEADS, GROUP - first_of_group);
  let slot = u32(slots[row >> 2u][row & 3u]);
  let position = u32(positions[row >> 2u][row & 3u]);
  let first = first_seen(position);
  let share = (position + SHARES - first) / SHARES;
  let begin = first + group.z * share;
  let end = min(begin + share, position + 1u);

  let scale = scale_at(position);
  for (var i = thread; i < HEADS * KEY; i += 128u) {
    let h = select(0u, i / KEY, i / KEY < used_heads);
    queries[i] = q[(row * HEADS_IN_ALL + head + h) * KEY + i % KEY] * scale;
  }
  if (thread < 4u) {
    largest[thread] = LOWEST;
    totals[thread] = 0.0;
  }
  workgroupBarrier();

  let own_word = thread % SLICE_THREADS;
  let slice = thread / SLICE_THREADS;
  var sums: array<array<Unit, OWN_WORDS>, HEADS>;
  for (var start = begin; start < end; start += 32u) {
    score(start, end, slot, kv_head, thread);
    weigh(start, end, thread);
    for (var h = 0u; h < HEADS; h++) {
      for (var w = 0u; w < OWN_WORDS; w++) { sums[h][w] *= kept[h]; }
    }
    let count = min(32u, end - start);
    for (var place = slice; place < count; place += SLICES) {
      let origin = (cells[place] * KV_HEADS + kv_head) * (VALUE / UNIT);
      for (var w = 0u; w < OWN_WORDS; w++) {
        let word = own_word + w * SLICE_THREADS;
        if (word < VALUE / UNIT) {
          let value = value_unit(origin + word);
          for (var h = 0u; h < HEADS; h++) { sums[h][w] += weights[h * 32u + place] * value; }
        }
      }
    }
    workgroupBarrier();
  }

  for (var h = 0u; h < HEADS; h++) {
    for (var w = 0u; w < OWN_WORDS; w++) {
      let at = h * GROUP_SUMS + (slice * OWN_WORDS * SLICE_THREADS + own_word + w * SLICE_THREADS) * UNIT;
      store_unit(at, sums[h][w]);
    }
  }
  workgroupBarrier();
  // The loop's trip count is the same for all threads, so that emit may exchange values.
  for (var start = 0u; start < HEADS * VALUE; start += 128u) {
    let at = min(start + thread, HEADS * VALUE - 1u);
    let h = at / VALUE;
    let element = at % VALUE;
    var sum = 0.0;
    for (var s = 0u; s < SLICES; s++) { sum += slice_sums[h * GROUP_SUMS + s * OWN_WORDS * SLICE_THREADS * UNIT + element]; }
    let used = start + thread < HEADS * VALUE && h < used_heads;
    emit(row, head + h, group.z, element, sum, vec2<f32>(largest[h], totals[h]), used, thread);
  }
}
`;

/** The whole context's result, f32. */
export const EMIT_FLOATS = /* wgsl */ `
fn emit(row: u32, head: u32, share: u32, element: u32, sum: f32, weight: vec2<f32>, used: bool, thread: u32) {
  if (used) { y[(row * HEADS_IN_ALL + head) * VALUE + element] = sum / denominator(weight.x, weight.y, head); }
}
`;

/** The whole context's result, quantized; a team has 32 neighbouring elements of a head. */
export const EMIT_QUANTIZED = /* wgsl */ `
fn emit(row: u32, head: u32, share: u32, element: u32, sum: f32, weight: vec2<f32>, used: bool, thread: u32) {
  quantize_team(sum / denominator(weight.x, weight.y, head), thread, ((row * HEADS_IN_ALL + head) * VALUE + element) / 32u, used);
}
`;

/** A partition's result: its sums, then the largest score and the total. */
export const EMIT_SHARE = /* wgsl */ `
fn emit(row: u32, head: u32, share: u32, element: u32, sum: f32, weight: vec2<f32>, used: bool, thread: u32) {
  if (!used) { return; }
  let at = ((row * HEADS_IN_ALL + head) * SHARES + share) * (VALUE + 2u);
  y[at + element] = sum;
  if (element == 0u) {
    y[at + VALUE] = weight.x;
    y[at + VALUE + 1u] = weight.y;
  }
}
`;

/** Merges the partitions of a row's heads: a workgroup of 128 threads a row and some heads. */
export const MERGE_SHARES = /* wgsl */ `
@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  let row = group.x;
  if (row >= u32(counts[COUNT])) { return; }
  let own = group.y * 128u + thread;
  let at = min(own, HEADS_IN_ALL * VALUE - 1u);
  let head = at / VALUE;
  let origin = (row * HEADS_IN_ALL + head) * SHARES * (VALUE + 2u);
  var most = LOWEST;
  for (var s = 0u; s < SHARES; s++) { most = max(most, partials[origin + s * (VALUE + 2u) + VALUE]); }
  var sum = 0.0;
  var total = 0.0;
  for (var s = 0u; s < SHARES; s++) {
    let share = origin + s * (VALUE + 2u);
    let weight = exponential(partials[share + VALUE] - most);
    sum = fma(weight, partials[share + at % VALUE], sum);
    total = fma(weight, partials[share + VALUE + 1u], total);
  }
  emit(row, head, 0u, at % VALUE, sum, vec2<f32>(most, total), own < HEADS_IN_ALL * VALUE, thread);
}
`;

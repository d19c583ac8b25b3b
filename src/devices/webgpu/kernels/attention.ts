import { type AttentionOp, hasOwnTable } from '../../../ops/index.ts';

// What a row sees: up to `position`, from `first` on; ALiBi measures distances from `centre`.
const SEEN = `let slot = u32(slots[row >> 2u][row & 3u]);
  let position = u32(positions[row >> 2u][row & 3u]);
  let first = first_visible(position);
  let centre = position;`;

/**
 * Attention of single rows over a paged cache. A workgroup of 128 threads computes up to `HEADS` query heads of one key head for
 * one row and one partition of its context, 32 positions at a time with an online softmax (Milakov & Gimelshein 2018): four
 * threads a position for its scores, 32 threads a head for the weights, then a thread some of the values' elements, `SLICES` of
 * the positions side by side. `emit` says where a result goes.
 */
const ATTENTION = /* wgsl */ `
const GROUP_SUMS = 128u * OWN_WORDS * UNIT;
// In the end the values' sums stand where the queries were.
const SHARED_FLOATS = HEADS * max(KEY, GROUP_SUMS);
var<workgroup> queries: array<f32, SHARED_FLOATS>;
var<workgroup> weights: array<f32, HEADS * 32u>;
var<workgroup> cells: array<u32, 32>;
var<workgroup> largest: array<f32, 4>;
var<workgroup> totals: array<f32, 4>;
var<workgroup> rescale: array<f32, 4>;

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

// The softmax weights of the scores of heads from first_head on, relative to the largest so far.
fn softmax_tile(start: u32, end: u32, first_head: u32, last: u32, thread: u32) {
  let head = thread / 32u;
  let place = thread % 32u;
  let score = biased(weights[min(head, HEADS - 1u) * 32u + place], first_head + head, start + place, last);
  let own = select(LOWEST, score, head < HEADS);
  let before = largest[head];
  let max_score = max(before, team_max(own, thread));
  let used = head < HEADS && start + place < end;
  let weight = select(0.0, exponential(own - max_score), used);
  let total = team_sum(weight, thread);
  if (head < HEADS) { weights[head * 32u + place] = weight; }
  workgroupBarrier();
  if (place == 0u) {
    rescale[head] = exponential(before - max_score);
    totals[head] = fma(totals[head], rescale[head], total);
    largest[head] = max_score;
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
  ${SEEN}
  let partition_size = (position + PARTITIONS - first) / PARTITIONS;
  let begin = first + group.z * partition_size;
  let end = min(begin + partition_size, position + 1u);

  let scale = scale_at(position);
  for (var i = thread; i < HEADS * KEY; i += 128u) {
    let h = select(0u, i / KEY, i / KEY < used_heads);
    queries[i] = q[(row * TOTAL_HEADS + head + h) * KEY + i % KEY] * scale;
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
    softmax_tile(start, end, head, centre, thread);
    for (var h = 0u; h < HEADS; h++) {
      for (var w = 0u; w < OWN_WORDS; w++) { sums[h][w] *= rescale[h]; }
    }
    let count = min(32u, end - start);
    for (var place = slice; place < count; place += SLICES) {
      let origin = (cells[place] * KV_HEADS + kv_head) * (VALUE_STRIDE / UNIT);
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
    for (var s = 0u; s < SLICES; s++) { sum += queries[h * GROUP_SUMS + s * OWN_WORDS * SLICE_THREADS * UNIT + element]; }
    let used = start + thread < HEADS * VALUE && h < used_heads;
    emit(row, head + h, group.z, element, sum, vec2<f32>(largest[h], totals[h]), used, thread);
  }
}
`;

/**
 * All of a row's table, or of its part for a group of key heads. Its last place was computed, and may be in the same memory
 * as results: only so is it uniform.
 */
const SEEN_IN_OWN_TABLE = `let place = row * PLACES + kv_head * PLACES / KV_HEADS;
  let slot = u32(slots[place >> 2u][place & 3u]);
  if (thread == 0u) { own_last = u32(positions[place >> 2u][place & 3u]); }
  let position = workgroupUniformLoad(&own_last);
  let first = 0u;
  let centre = position;`;

/**
 * The kernel; with a reach, rows see as many positions on either side of their own, and with tables of their own the
 * positions in them.
 */
export function attentionText(op: Pick<AttentionOp, 'reach' | 'cache'>): string {
  const { reach } = op;
  if (hasOwnTable(op)) {
    return `var<workgroup> own_last: u32;\n${ATTENTION.replace(SEEN, SEEN_IN_OWN_TABLE)}`;
  }
  if (reach === undefined) return ATTENTION;
  return ATTENTION.replace(
    SEEN,
    `let slot = u32(slots[row >> 2u][row & 3u]);
  let own = u32(own_positions[row >> 2u][row & 3u]);
  let position = min(u32(positions[row >> 2u][row & 3u]), own + ${reach}u);
  let first = max(own, ${reach}u) - ${reach}u;
  let centre = own;`,
  );
}

/** The whole context's result, f32. */
export const EMIT_FLOATS = /* wgsl */ `
fn emit(row: u32, head: u32, partition_index: u32, element: u32, sum: f32, weight: vec2<f32>, used: bool, thread: u32) {
  if (used) { y[(row * TOTAL_HEADS + head) * VALUE + element] = sum / denominator(weight.x, weight.y, head); }
}
`;

/** The whole context's result, quantized; a team has 32 neighbouring elements of a head. */
export const EMIT_QUANTIZED = /* wgsl */ `
fn emit(row: u32, head: u32, partition_index: u32, element: u32, sum: f32, weight: vec2<f32>, used: bool, thread: u32) {
  quantize_team(sum / denominator(weight.x, weight.y, head), thread, ((row * TOTAL_HEADS + head) * VALUE + element) / 32u, used);
}
`;

/** A partition's result: its sums, then the largest score and the total. */
export const EMIT_PARTIAL = /* wgsl */ `
fn emit(row: u32, head: u32, partition_index: u32, element: u32, sum: f32, weight: vec2<f32>, used: bool, thread: u32) {
  if (!used) { return; }
  let at = ((row * TOTAL_HEADS + head) * PARTITIONS + partition_index) * (VALUE + 2u);
  y[at + element] = sum;
  if (element == 0u) {
    y[at + VALUE] = weight.x;
    y[at + VALUE + 1u] = weight.y;
  }
}
`;

/** Merges the partitions of a row's heads: a workgroup of 128 threads a row and some heads. */
export const MERGE_PARTITIONS = /* wgsl */ `
@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  let row = group.x;
  if (row >= u32(counts[COUNT])) { return; }
  let own = group.y * 128u + thread;
  let at = min(own, TOTAL_HEADS * VALUE - 1u);
  let head = at / VALUE;
  let origin = (row * TOTAL_HEADS + head) * PARTITIONS * (VALUE + 2u);
  var max_score = LOWEST;
  for (var s = 0u; s < PARTITIONS; s++) { max_score = max(max_score, partials[origin + s * (VALUE + 2u) + VALUE]); }
  var sum = 0.0;
  var total = 0.0;
  for (var s = 0u; s < PARTITIONS; s++) {
    let partial = origin + s * (VALUE + 2u);
    let weight = exponential(partials[partial + VALUE] - max_score);
    sum = fma(weight, partials[partial + at % VALUE], sum);
    total = fma(weight, partials[partial + VALUE + 1u], total);
  }
  emit(row, head, 0u, at % VALUE, sum, vec2<f32>(max_score, total), own < TOTAL_HEADS * VALUE, thread);
}
`;

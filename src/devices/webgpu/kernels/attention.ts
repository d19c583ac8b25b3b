import { type AttentionOp, hasOwnTable } from '../../../ops/index.ts';
import type { Loop } from './library/loop.ts';

// What a row sees: up to `position`, from `first` on; ALiBi measures distances from `centre`.
const SEEN = `let slot = u32(slots[row >> 2u][row & 3u]);
  let position = u32(positions[row >> 2u][row & 3u]);
  let first = first_visible(position);
  let centre = position;`;

/** How the work of a workgroup is divided; of loops over these numbers every round is a text of its own. */
export interface AttentionCounts {
  /** Query heads at once. */
  readonly heads: number;
  /** Units of a key, and of a position's values, that a thread has. */
  readonly keyUnits: number;
  readonly valueUnits: number;
  /** Positions of 32 whose values a thread has. */
  readonly valuePositions: number;
}

/** The scores of 32 positions. */
function scoresText({ heads, keyUnits }: AttentionCounts, loop: Loop): string {
  const perHead = (body: (h: string) => string) => loop('h', heads, body);
  return /* wgsl */ `
const LINE_WORDS = KEY / UNIT;
// Where the place in cells begins that 32 positions have from start on, of which those before end count.
fn find_cells(place: u32, start: u32, end: u32, slot: u32, thread: u32) {
  if (start < end && thread < 32u) { cells[place + thread] = cell_of(slot, min(start + thread, end - 1u)); }
}

fn score(first_cell: u32, start: u32, end: u32, kv_head: u32, thread: u32) {
  let place = thread / 4u;
  let part = thread % 4u;
  let origin = (cells[first_cell + place] * KV_HEADS + kv_head) * LINE_WORDS;
  var sums: array<f32, HEADS>;
  ${loop(
    'i',
    keyUnits,
    (i) => /* wgsl */ `
    let word = part + 4u * ${i};
    if (LINE_WORDS % 4u == 0u || word < LINE_WORDS) {
      let key = key_unit(origin + word);
      ${perHead((h) => ` sums[${h}] = plus_product(sums[${h}], ${h} * KEY + word * UNIT, key); `)}
    }
  `,
  )}
  ${perHead(
    (h) => /* wgsl */ `
    let sum = four_sum(sums[${h}], thread);
    if (part == 0u) { weights[${h} * 32u + place] = select(LOWEST, capped(sum), start + place < end); }
  `,
  )}
  workgroupBarrier();
}
`;
}

/** The softmax weights of the scores of heads from first_head on, relative to the largest so far. */
const SOFTMAX_TILE = /* wgsl */ `
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
`;

/** 32 positions after the other: values are on their way while their weights are computed, and so are the places of the next ones. */
function positionsText({ heads, valueUnits, valuePositions }: AttentionCounts, loop: Loop): string {
  const perHead = (body: (h: string) => string) => loop('h', heads, body);
  const perUnit = (body: (w: string) => string) => loop('w', valueUnits, body);
  const perValue = (body: (i: string, w: string) => string) =>
    loop('i', valuePositions, (i) => perUnit((w) => body(i, w)));
  return /* wgsl */ `
  for (var start = begin; start < end; start += 32u) {
    var values = array<RawUnit, ${valuePositions * valueUnits}>();
    ${perValue(
      (i, w) => /* wgsl */ `
      let place = min(slice + ${i} * SLICES, 31u);
      let word = min(own_word + ${w} * SLICE_THREADS, VALUE / UNIT - 1u);
      values[${i} * OWN_WORDS + ${w}] = raw_value((cells[first_cell + place] * KV_HEADS + kv_head) * (VALUE_STRIDE / UNIT) + word);
    `,
    )}
    find_cells(32u - first_cell, start + 32u, end, slot, thread);
    score(first_cell, start, end, kv_head, thread);
    softmax_tile(start, end, head, centre, thread);
    ${perHead((h) => perUnit((w) => ` sums[${h}][${w}] *= rescale[${h}]; `))}
    ${perValue(
      (i, w) => /* wgsl */ `
      let place = slice + ${i} * SLICES;
      if (SLICES <= 32u || place < 32u) {
        let value = unit_of(values[${i} * OWN_WORDS + ${w}]);
        ${perHead((h) => ` sums[${h}][${w}] += weights[${h} * 32u + place] * value; `)}
      }
    `,
    )}
    first_cell = 32u - first_cell;
    workgroupBarrier();
  }
`;
}

/** Adds up the slices' sums, `KEPT` of them at a time, and gives them away. */
function resultsText({ heads, valueUnits }: AttentionCounts, loop: Loop): string {
  const stored = loop('h', heads, (h) =>
    loop(
      'w',
      valueUnits,
      (w) => /* wgsl */ `
        let at = (slice % KEPT * HEADS + ${h}) * OWN_SUMS + (own_word + ${w} * SLICE_THREADS) * UNIT;
        if (round > 0u) { sums[${h}][${w}] += stored_unit(at); }
        store_unit(at, sums[${h}][${w}]);
      `,
    ),
  );
  return /* wgsl */ `
  for (var round = 0u; round < SLICES / KEPT; round++) {
    if (slice / KEPT == round) {${stored}}
    workgroupBarrier();
  }
  // The loop's trip count is the same for all threads, so that emit may exchange values.
  for (var start = 0u; start < HEADS * VALUE; start += 128u) {
    let at = min(start + thread, HEADS * VALUE - 1u);
    let h = at / VALUE;
    let element = at % VALUE;
    var sum = 0.0;
    for (var s = 0u; s < KEPT; s++) { sum += stored_float((s * HEADS + h) * OWN_SUMS + element); }
    let used = start + thread < HEADS * VALUE && h < used_heads;
    emit(row, head + h, group.z, element, sum, vec2<f32>(largest[h], totals[h]), used, thread);
  }
`;
}

/**
 * Attention of single rows over a paged cache. A workgroup of 128 threads computes up to `HEADS` query heads of one key head for
 * one row and one partition of its context, 32 positions at a time with an online softmax (Milakov & Gimelshein 2018): four
 * threads a position for its scores, 32 threads a head for the weights, then a thread some of the values' elements, `SLICES` of
 * the positions side by side. `emit` says where a result goes.
 */
function wholeText(seen: string, counts: AttentionCounts, loop: Loop): string {
  return /* wgsl */ `
const OWN_SUMS = SLICE_THREADS * OWN_WORDS * UNIT;
// In the end sums of KEPT slices stand where the queries were.
const SHARED_FLOATS = (HEADS * max(KEY, KEPT * OWN_SUMS) + 3u) / 4u * 4u;
var<workgroup> weights: array<f32, HEADS * 32u>;
var<workgroup> cells: array<u32, 64>;
var<workgroup> largest: array<f32, 4>;
var<workgroup> totals: array<f32, 4>;
var<workgroup> rescale: array<f32, 4>;
${scoresText(counts, loop)}${SOFTMAX_TILE}
@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  let row = group.x;
  if (row >= u32(counts[COUNT])) { return; }
  let kv_head = group.y / HEAD_GROUPS;
  let first_of_group = group.y % HEAD_GROUPS * HEADS;
  let head = kv_head * GROUP + first_of_group;
  let used_heads = min(HEADS, GROUP - first_of_group);
  ${seen}
  let partition_size = (position + PARTITIONS - first) / PARTITIONS;
  let begin = first + group.z * partition_size;
  let end = min(begin + partition_size, position + 1u);

  find_cells(0u, begin, end, slot, thread);
  load_queries((row * TOTAL_HEADS + head) * KEY, used_heads, scale_at(position), thread);
  if (thread < 4u) {
    largest[thread] = LOWEST;
    totals[thread] = 0.0;
  }
  workgroupBarrier();

  let own_word = thread % SLICE_THREADS;
  let slice = thread / SLICE_THREADS;
  var first_cell = 0u;
  var sums: array<array<Unit, OWN_WORDS>, HEADS>;
${positionsText(counts, loop)}${resultsText(counts, loop)}}
`;
}

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
export function attentionText(
  op: Pick<AttentionOp, 'reach' | 'cache'>,
  counts: AttentionCounts,
  loop: Loop,
): string {
  const { reach } = op;
  if (hasOwnTable(op)) return `var<workgroup> own_last: u32;\n${wholeText(SEEN_IN_OWN_TABLE, counts, loop)}`;
  if (reach === undefined) return wholeText(SEEN, counts, loop);
  const seen = `let slot = u32(slots[row >> 2u][row & 3u]);
  let own = u32(own_positions[row >> 2u][row & 3u]);
  let position = min(u32(positions[row >> 2u][row & 3u]), own + ${reach}u);
  let first = max(own, ${reach}u) - ${reach}u;
  let centre = own;`;
  return wholeText(seen, counts, loop);
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

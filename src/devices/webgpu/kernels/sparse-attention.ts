/**
 * Scores of positions by an indexer's heads, together or `LINES` apart: a workgroup takes a row and as many positions as it has threads, a thread one
 * of them. The queries of `HEADS_TOGETHER` heads at a time are in workgroup memory. Requires `PAGED_CACHE`, the units
 * of a cache and `last_position`.
 */
export const INDEX_SCORES = /* wgsl */ `
var<workgroup> queries: array<f32, HEADS_TOGETHER * SIZE>;

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  let row = group.x;
  if (row >= u32(counts[COUNT])) { return; }
  let last = u32(last_position(row, thread));
  let slot = u32(slots[row >> 2u][row & 3u]);
  let position = group.y * THREADS + thread;
  // A row that sees none has -1.
  if (group.y * THREADS > last || last >= 0x80000000u) {
    for (var line = 0u; line < LINES && position < WIDTH; line++) { y[(row * LINES + line) * WIDTH + position] = 0.0; }
    return;
  }
  let key = cell_of(slot, min(position, last)) * (SIZE / UNIT);
  var score = 0.0;
  for (var first = 0u; first < HEADS; first += HEADS_TOGETHER) {
    let heads = min(HEADS_TOGETHER, HEADS - first);
    workgroupBarrier();
    for (var i = thread; i < HEADS_TOGETHER * SIZE; i += THREADS) {
      queries[i] = select(0.0, q[(row * HEADS + first) * SIZE + min(i, heads * SIZE - 1u)], i < heads * SIZE);
    }
    workgroupBarrier();
    var products = array<f32, HEADS_TOGETHER>();
    for (var word = 0u; word < SIZE / UNIT; word++) {
      let elements = key_unit(key + word);
      for (var h = 0u; h < HEADS_TOGETHER; h++) {
        products[h] = plus_product(products[h], h * SIZE + word * UNIT, elements);
      }
    }
    for (var h = 0u; h < heads; h++) { score = added(score, products[h], row, first + h, position, last); }
  }
  if (LINES == 1u && position < WIDTH) { y[row * WIDTH + position] = select(0.0, score, position <= last); }
}
`;

/** The last position that a row sees, of a tensor that is the same for a workgroup because nothing writes to its buffer. */
export const LAST_OF_INPUT = `fn last_position(row: u32, thread: u32) -> i32 { return positions[row >> 2u][row & 3u]; }`;

/** The same of a result of the graph, whose buffer others write to. */
export const LAST_OF_RESULT = /* wgsl */ `
var<workgroup> last_of_row: i32;
fn last_position(row: u32, thread: u32) -> i32 {
  if (thread == 0u) { last_of_row = positions[row >> 2u][row & 3u]; }
  return workgroupUniformLoad(&last_of_row);
}
`;

/** Weighted heads are added up. */
export const ADD_WEIGHTED = /* wgsl */ `
const LINES = 1u;
fn added(score: f32, product: f32, row: u32, head: u32, position: u32, last: u32) -> f32 {
  return fma(weights[row * HEADS + head], max(product, 0.0), score);
}
`;

/** Each head's scores are stored. */
export const STORE_BY_HEAD = /* wgsl */ `
const LINES = HEADS;
fn added(score: f32, product: f32, row: u32, head: u32, position: u32, last: u32) -> f32 {
  if (position < WIDTH) { y[(row * HEADS + head) * WIDTH + position] = select(0.0, product, position <= last); }
  return 0.0;
}
`;

/**
 * Chooses the positions with the largest scores, a workgroup a row and group of heads: the least score that is chosen by its digits of eight
 * bits from the highest on, of whose numbers a histogram is taken each; then every thread writes those among its
 * neighbouring positions, in their order. Of `SIZE` positions that are chosen together the largest score counts, and
 * `LOCAL` blocks up to the row's own are always chosen. Requires `PAGED_CACHE` and `last_position`.
 */
export const CHOOSE_POSITIONS = /* wgsl */ `
const DIGITS = 256u;
var<workgroup> histogram: array<atomic<u32>, DIGITS>;
// Positions of threads before each one's: above the least score that is chosen, and at it.
var<workgroup> aboves: array<u32, THREADS>;
var<workgroup> equals: array<u32, THREADS>;
var<workgroup> digit: u32;
var<workgroup> wanted: u32;
var<workgroup> best: array<u32, BLOCKS>;

// Numbers in their order as unsigned words; both zeros are one, and NaN is negative infinity.
fn ordered(value: f32) -> u32 {
  let stored = bitcast<u32>(value);
  let number = select(stored, 0xff800000u, (stored & 0x7fffffffu) > 0x7f800000u);
  let bits = select(number, 0u, number == 0x80000000u);
  return select(bits | 0x80000000u, ~bits, (bits & 0x80000000u) != 0u);
}

fn word_of(line: u32, i: u32) -> u32 {
  if (SIZE == 1u) { return ordered(scores[line + i]); }
  return best[i];
}

fn cell_or_none(slot: u32, position: u32, seen: u32) -> i32 {
  if (position >= seen) { return 0; }
  return i32(cell_of(slot, position));
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32) {
  let row = group.x;
  if (row >= u32(counts[COUNT])) { return; }
  let place = row * groups.y + group.y;
  let line = place * WIDTH;
  let slot = u32(slots[row >> 2u][row & 3u]);
  let seen = min(u32(last_position(row, thread) + 1), WIDTH);
  let visible = (seen + SIZE - 1u) / SIZE;
  let own = place * MOST * SIZE;
  if (thread == 0u) {
    places[place] = i32(place);
    wanted = MOST;
    if (visible <= MOST) { limits[place] = i32(seen) - 1; }
  }
  if (visible <= MOST) {
    for (var p = thread; p < MOST * SIZE; p += THREADS) { cells[own + p] = cell_or_none(slot, p, seen); }
    return;
  }
  if (SIZE > 1u) {
    for (var b = thread; b < visible; b += THREADS) {
      var word = 0u;
      for (var p = b * SIZE; p < min((b + 1u) * SIZE, seen); p++) { word = max(word, ordered(scores[line + p])); }
      best[b] = select(word, 0xffffffffu, b + LOCAL >= visible);
    }
  }
  workgroupBarrier();
  var least = 0u;
  for (var pass_index = 0u; pass_index < 4u; pass_index++) {
    let shift = 24u - 8u * pass_index;
    for (var d = thread; d < DIGITS; d += THREADS) { atomicStore(&histogram[d], 0u); }
    workgroupBarrier();
    // Only those that begin with the digits found so far.
    let mask = select(0xffffffffu << ((shift + 8u) & 31u), 0u, pass_index == 0u);
    for (var p = thread; p < visible; p += THREADS) {
      let word = word_of(line, p);
      if ((word & mask) == least) { atomicAdd(&histogram[(word >> shift) & 255u], 1u); }
    }
    workgroupBarrier();
    if (thread == 0u) {
      var d = DIGITS - 1u;
      var left = wanted;
      var found = atomicLoad(&histogram[d]);
      while (found < left) {
        left -= found;
        d--;
        found = atomicLoad(&histogram[d]);
      }
      digit = d;
      wanted = left;
    }
    workgroupBarrier();
    least |= digit << shift;
    workgroupBarrier();
  }
  let share = (visible + THREADS - 1u) / THREADS;
  let begin = min(thread * share, visible);
  let end = min(begin + share, visible);
  var above = 0u;
  var equal = 0u;
  for (var p = begin; p < end; p++) {
    let word = word_of(line, p);
    above += select(0u, 1u, word > least);
    equal += select(0u, 1u, word == least);
  }
  aboves[thread] = above;
  equals[thread] = equal;
  workgroupBarrier();
  for (var step = 1u; step < THREADS; step *= 2u) {
    let source = max(thread, step) - step;
    let before = select(vec2<u32>(0u), vec2<u32>(aboves[source], equals[source]), thread >= step);
    workgroupBarrier();
    aboves[thread] += before.x;
    equals[thread] += before.y;
    workgroupBarrier();
  }
  above = aboves[thread] - above;
  equal = equals[thread] - equal;
  for (var p = begin; p < end; p++) {
    let word = word_of(line, p);
    let at = own + (above + min(equal, wanted)) * SIZE;
    let chosen = word > least || (word == least && equal < wanted);
    for (var i = 0u; chosen && i < SIZE; i++) { cells[at + i] = cell_or_none(slot, p * SIZE + i, seen); }
    // Only the last of them may be cut off, which is chosen last if it is.
    if (p == visible - 1u) { limits[place] = i32(MOST * SIZE - select(0u, visible * SIZE - seen, chosen)) - 1; }
    above += select(0u, 1u, word > least);
    equal += select(0u, 1u, word == least);
  }
}
`;
